// Every module of every page can be read by a browser: a page whose one module cannot is blank.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

const STATIC = fileURLToPath(new URL("../../src/masquerade/server/web/static/", import.meta.url));
const names = readdirSync(STATIC, { recursive: true }).filter((name) => name.endsWith(".js"));

/** Prints the faults of the modules named, each read as a module and not run. */
const READER = `
  import { readFileSync } from "node:fs";
  import { SourceTextModule } from "node:vm";
  for (const name of process.argv.slice(2)) {
    try {
      new SourceTextModule(readFileSync(process.argv[1] + name, "utf8"));
    } catch (error) {
      console.log(name + ": " + error.message);
    }
  }
`;

test("every module can be read", () => {
  assert.ok(names.length > 100);
  const flags = ["--no-warnings", "--experimental-vm-modules", "--input-type=module", "-e", READER, "--"];
  const { stdout, status } = spawnSync(process.execPath, [...flags, STATIC, ...names], { encoding: "utf8" });
  assert.equal(stdout, "");
  assert.equal(status, 0);
});

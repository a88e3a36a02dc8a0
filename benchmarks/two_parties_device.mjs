// What splitting and sealing one response costs a device, as JSON; run by two_parties.py.
//
//     node two_parties_device.mjs QUESTIONS SYMBOLS RUNS
//
// Processor time in milliseconds: the modules read and the first response split ("cold"), then
// the best of some runs for one response ("warm") and for sealing its two shares ("seals").

const STATIC = new URL("../src/masquerade/server/web/static/aggregate/", import.meta.url);
const [questions, symbols, runs] = process.argv.slice(2).map(Number);
const EACH = 10;

const processorTime = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

async function best(work) {
  let least = Infinity;
  for (let run = 0; run < runs; run++) {
    const start = processorTime();
    for (let each = 0; each < EACH; each++) await work();
    least = Math.min(least, (processorTime() - start) / EACH);
  }
  return least;
}

const start = processorTime();
const { One, prio3Survey } = await import(new URL("survey_circuit.js", STATIC));
const { Task } = await import(new URL("task.js", STATIC));
const measurement = Array.from({ length: questions }, (_, place) => place % symbols);
const vdaf = prio3Survey(measurement.map(() => new One(symbols)));
vdaf.shard(measurement, new Uint8Array(38));
const cold = processorTime() - start;

const task = await Task.of(vdaf, {
  info: new Uint8Array(16), leaderUrl: "https://leader.example/",
  helperUrl: "https://helper.example/", opening: 1_800_000_000, duration: 1_209_600,
  minBatchSize: 20, terms: new Uint8Array(32),
});
const pair = await crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"]);
const publicKey = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
const key = { id: 1, kem: 0x0010, kdf: 1, aead: 1, publicKey };
const keys = { leader: key, helper: key };
const split = vdaf.shard(measurement, task.context);
const warm = await best(() => vdaf.shard(measurement, task.context));
const seals = await best(() => task.seal(split, keys));
const bytes = (await task.report(measurement, keys)).length;
process.stdout.write(JSON.stringify({ cold, warm, seals, bytes }));

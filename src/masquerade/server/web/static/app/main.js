// The participants' app: which page this is, in which language.

import { allow } from "./dom.js";
import { openDatabase } from "./database.js";
import { Device } from "./device.js";
import { Screen } from "./screen.js";
import { Server } from "./api.js";
import { SurveyPage } from "./survey_page.js";
import { cannot } from "./survey_views.js";
import { loadLanguage, preferredLanguage, setLanguage, words } from "../words/language.js";

const path = globalThis.location.pathname.replace(/(.)\/+$/, "$1");
const { build, leader = "", fingerprint = "", earlier = "" } = document.documentElement.dataset;
// A second party served this page itself: then it says what its key is, and who the leader is.
const host = leader ? { leader, fingerprint, address: globalThis.location.origin } : null;
const screen = new Screen();
// Loaded when they are opened: a first visit is to a survey.
const PAGES = {
  "/me": ["home", () => import("./home_page.js"), "HomePage"],
  "/me/ledger": ["ledger", () => import("./ledger_page.js"), "LedgerPage"],
  "/me/settings": ["settings", () => import("./settings_page.js"), "SettingsPage"],
  "/me/plain": ["about", () => import("./about_page.js"), "PlainPage"],
  "/me/about": ["about", () => import("./about_page.js"), "AboutPage"],
};

async function pageOf(context) {
  const survey = path.match(/^\/s\/([^/]+)$/);
  if (survey) return new SurveyPage(context, decodeURIComponent(survey[1]), arrival());
  const [group, load, name] = PAGES[path] ?? PAGES["/me"];
  allow(group);
  return new (await load())[name](context);
}

/** Speak the first language of a list that the app knows; English where it cannot be loaded. */
async function speak(list) {
  const code = preferredLanguage(list);
  allow(`words-${code}`);
  await loadLanguage(code).catch(() => {});
  setLanguage(code);
}

/** Return what the address says beside the survey, and take the ticket out of the address. */
function arrival() {
  const { hash: mark, search } = globalThis.location;
  if (mark.startsWith("#ticket=")) globalThis.location.replace("#");
  return { mark, search };
}

async function start() {
  const browser = navigator.languages ?? [];
  await speak(browser);
  screen.frame(path, () => {});
  if (!globalThis.crypto?.getRandomValues) {
    return screen.show("cannot", cannot(words().cannot.randomness));
  }
  let database;
  try {
    database = await openDatabase(leader);
    // Some browsers offer a storage that fails when it is used.
    await database.change("device", "check", () => 1);
  } catch {
    return screen.show("cannot", cannot(words().cannot.storage));
  }
  const device = new Device(database);
  const server = new Server(() => device.secret(), {
    leader,
    origin: globalThis.location.origin,
    earlier: earlier.split(" ").filter(Boolean),
    moves: device.moves,
  });
  const prefer = async (code) => {
    // A survey may be in languages that the app does not speak.
    await speak([code, words().code]);
    screen.frame(path, prefer);
    await device.prefer({ language: code });
    return page.render({ focus: false });
  };
  const reload = () => globalThis.location.reload();
  const page = await pageOf({ screen, server, device, database, prefer, build, host, reload });
  const { language } = await device.settings();
  if (language) await speak([language, ...browser]);
  screen.frame(path, prefer);
  await page.start();
  // Coming back, with the back button or from another tab: what counts is the disk.
  globalThis.addEventListener("pageshow", (event) => event.persisted && page.render());
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) page.refresh?.();
  });
  return null;
}

start();
// Works in secure contexts only; elsewhere there is no app without a network. What it keeps is one
// page for all surveys, and a second party's differ by their leader.
if (!host) navigator.serviceWorker?.register("/sw.js", { updateViaCache: "none" }).catch(() => {});

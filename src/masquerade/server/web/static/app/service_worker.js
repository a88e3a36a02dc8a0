// The service worker: keeps the app's own files, so that it opens without a network. It never keeps
// or changes what the API answers, and never sees an answer of a person.
//
// The server puts `const APP = {build, files}` before this text.

/* global APP */

const KEPT = `masquerade-${APP.build}`;
const SHELL = "/me";
const PATIENCE_MILLISECONDS = 4000;

const isPage = (path) => path === SHELL || path.startsWith(`${SHELL}/`) || path.startsWith("/s/");

async function keepAll() {
  const cache = await caches.open(KEPT);
  await cache.addAll([...APP.files, new Request(SHELL, { cache: "reload" })]);
  await self.skipWaiting();
}

async function dropOthers() {
  const names = await caches.keys();
  const others = names.filter((name) => name.startsWith("masquerade-") && name !== KEPT);
  await Promise.all(others.map((name) => caches.delete(name)));
  await self.clients.claim();
}

/** The page is the same for all addresses; the server's own is preferred while it answers. */
async function page(request) {
  const kept = () => caches.match(SHELL, { cacheName: KEPT });
  const late = new Promise((resolve) => setTimeout(() => resolve(null), PATIENCE_MILLISECONDS));
  // Nothing may be added to the request of a navigation, so it is left to itself when it is late.
  const answer = await Promise.race([fetch(request).catch(() => null), late]);
  if (answer !== null && answer.status < 500) return answer;
  return (await kept()) ?? answer ?? Response.error();
}

async function file(request) {
  return (await caches.match(request, { cacheName: KEPT })) ?? fetch(request);
}

self.addEventListener("install", (event) => event.waitUntil(keepAll()));
self.addEventListener("activate", (event) => event.waitUntil(dropOthers()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  if (request.mode === "navigate" && isPage(pathname)) event.respondWith(page(request));
  else if (APP.files.includes(pathname)) event.respondWith(file(request));
});

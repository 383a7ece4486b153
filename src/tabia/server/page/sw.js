/**
 * The offline shell: page files come from the network where it answers and from the cache where it does not.
 * Answers of /api are never stored: the server owns the games.
 */
const CACHE = "tabia-shell-1";

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.add("/")).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name))));
  event.waitUntil(old.then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  const isShell = url.origin === location.origin && (url.pathname === "/" || url.pathname.startsWith("/assets/"));
  if (event.request.method !== "GET" || !isShell) return;
  event.respondWith(fresh(event.request));
});

/** @param {Request} request */
async function fresh(request) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(request, response.clone());
    return response;
  } catch {
    return (await cache.match(request, { ignoreSearch: true })) ?? Response.error();
  }
}

/**
 * The offline shell: page files come from the network where it answers and from the cache where it does not.
 * Answers of /api are never stored: the server owns the games.
 */
const CACHE = "tabia-shell";
const FILES = [
  "/",
  "/assets/account.js",
  "/assets/api.js",
  "/assets/app.css",
  "/assets/app.js",
  "/assets/board.css",
  "/assets/components/board-art.js",
  "/assets/components/board-drawing.js",
  "/assets/components/board-marks.js",
  "/assets/components/board-motion.js",
  "/assets/components/board-moves.js",
  "/assets/components/board.js",
  "/assets/components/calls.js",
  "/assets/components/chart.js",
  "/assets/components/clock.js",
  "/assets/components/ladder.js",
  "/assets/components/overlay.js",
  "/assets/components/parts.js",
  "/assets/components/reader.js",
  "/assets/components/score-graph.js",
  "/assets/components/seats.js",
  "/assets/components/selfplay.js",
  "/assets/components/sign-in.js",
  "/assets/components/tree.js",
  "/assets/icons.js",
  "/assets/icons/chevron-dark.svg",
  "/assets/icons/chevron.svg",
  "/assets/icons/icon-192.png",
  "/assets/icons/icon-512.png",
  "/assets/icons/icon.svg",
  "/assets/keys.js",
  "/assets/line-tree.js",
  "/assets/lit.js",
  "/assets/manifest.webmanifest",
  "/assets/online.js",
  "/assets/orientation.js",
  "/assets/people.css",
  "/assets/router.js",
  "/assets/run-series.js",
  "/assets/session.js",
  "/assets/store.js",
  "/assets/theme.js",
  "/assets/vendor/lit/css-tag.js",
  "/assets/vendor/lit/directive-helpers.js",
  "/assets/vendor/lit/directive.js",
  "/assets/vendor/lit/lit-element.js",
  "/assets/vendor/lit/lit-html.js",
  "/assets/vendor/lit/live.js",
  "/assets/vendor/lit/reactive-element.js",
  "/assets/vendor/lit/repeat.js",
  "/assets/vendor/uplot/uPlot.css",
  "/assets/vendor/uplot/uPlot.js",
  "/assets/views.css",
  "/assets/views/account-access.js",
  "/assets/views/account.js",
  "/assets/views/compare.js",
  "/assets/views/explain.js",
  "/assets/views/join.js",
  "/assets/views/leaderboard.js",
  "/assets/views/learn.js",
  "/assets/views/person.js",
  "/assets/views/play-online.js",
  "/assets/views/play-parts.js",
  "/assets/views/play-setup.js",
  "/assets/views/play.js",
  "/assets/views/review-list.js",
  "/assets/views/review-parts.js",
  "/assets/views/review.js",
  "/assets/views/run.js",
  "/assets/words.js",
];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
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

// The HTTP interface. Every failure becomes an Error with one sentence for people. An unreachable server is polled.

import { FetchedEvents, headers, isEmbedded } from "./embed.js";
import { serverState } from "./messages.js";
import { askToken } from "./token.js";

/** An error response of the server. */
export class ApiError extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

const AWAY = "The server does not respond. Trying again…";
const SLOW = "The server is slow to respond. Still waiting…";
/** After this time without a response, in milliseconds, the page shows that it is waiting. */
const SLOW_MS = 8000;
let isAway = false;
/** The number of requests that have been waiting for longer than that. */
let slow = 0;
/** The callbacks of `onReturn`. */
const waiting = new Set();

/** Calls back when the server responds again after an outage. */
export function onReturn(callback) {
  waiting.add(callback);
}

/** Whether the last request did not reach the server. */
export function serverIsAway() {
  return isAway;
}

function showServerState() {
  serverState(isAway ? AWAY : slow ? SLOW : null);
}

/** If a request waits long, shows so until the returned function is called. */
function watchWaiting() {
  let isSlow = false;
  const count = (by) => {
    slow += by;
    showServerState();
  };
  const timer = setTimeout(() => {
    isSlow = true;
    count(1);
  }, SLOW_MS);
  return () => {
    clearTimeout(timer);
    if (isSlow) count(-1);
  };
}

/** Shows that the server is unreachable, and polls it until it responds. */
export function pollServer() {
  if (isAway) return;
  isAway = true;
  showServerState();
  let delay = 500;
  const look = async () => {
    try {
      await fetch("/api/sources", { cache: "no-store" });
      isAway = false;
      showServerState();
      for (const callback of waiting) callback();
    } catch {
      delay = Math.min(delay * 1.5, 5000);
      setTimeout(look, delay);
    }
  };
  setTimeout(look, delay);
}

async function sentenceOf(response) {
  try {
    const { error } = await response.json();
    if (typeof error === "string" && error) return error;
  } catch {
    // Not JSON.
  }
  return `The server rejected the request (status ${response.status}).`;
}

async function request(url, options = {}) {
  for (;;) {
    let response;
    const stopWatching = watchWaiting();
    try {
      response = await fetch(url, { cache: "no-store", ...options, headers: { ...headers, ...options.headers } });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      pollServer();
      throw new ApiError(0, "The server does not respond.");
    } finally {
      stopWatching();
    }
    if (response.status === 401 && url !== "/api/login" && !isEmbedded) {
      await askToken(login);
      continue;
    }
    if (!response.ok) throw new ApiError(response.status, await sentenceOf(response));
    return response;
  }
}

const json = async (url, options) => (await request(url, options)).json();

/** Exchanges a token for the cookie that later requests send. */
export async function login(token) {
  await request("/api/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) });
}

/** `/api/NAME?...` with repeated `path`s; null values are omitted. */
export function address(name, parameters = {}) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== null && one !== undefined) query.append(key, one);
  }
  const text = query.toString();
  return `/api/${name}${text ? `?${text}` : ""}`;
}

const sourcePath = (id, rest = "") => `sources/${encodeURIComponent(id)}${rest}`;

export const sources = () => json(address("sources"));
export const source = (id, signal) => json(address(sourcePath(id)), { signal });
export const sets = (id, machine = null) => json(address(sourcePath(id, "/sets"), { machine }));
export const instances = (id, set, machine = null) => json(address(sourcePath(id, "/instances"), { set, machine }));
/** The table of machines: `{columns, rows, ...}` (docs/http.md). */
export const fleet = (request, signal) => json(address("fleet", request), { signal });
/** What changed between two logs: `{rows, total, omitted_sets}` (docs/http.md). */
export const compare = (request, signal) => json(address("compare", request), { signal });
/** The sets and counters that contain all words, the best match first. */
export const search = (id, words) => json(address(sourcePath(id, "/search"), { words }));
export const openLog = (log) =>
  json(address("sources"), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ log }) });
export const views = () => json(address("views"));
/** A view of the server, fitted to a source. */
export const view = (name, source) => json(address(`views/${encodeURIComponent(name)}`, { source }));
/** A view file, fitted to a source. */
export const fitView = (text, source) => json(address("views", { source }), { method: "POST", headers: { "Content-Type": "application/toml" }, body: text });
/** The recording of the server. */
export const recording = () => json(address("recording"));
export const startRecording = (counters) => json(address("recording"), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(counters) });
export const stopRecording = () => json(address("recording"), { method: "DELETE" });
/** Ends the session. */
export const logout = () => request("/api/logout", { method: "POST" });
/** Properties of processes of this machine. */
export const processes = (ids) => json(address("processes", { id: ids }));
export const closeSource = (id) => request(address(sourcePath(id)), { method: "DELETE" });

/** The counters of a source over a range, reduced to columns. Bounds are RFC 3339 strings, or null for the whole source. */
export const series = (id, { paths, begin, end, columns, group_by, across }, signal) =>
  json(address(sourcePath(id, "/series"), { path: paths, begin, end, columns, group_by, across }), { signal });

/** Statistics with percentiles, as a list with a row per counter. */
export const statistics = (id, { paths, begin, end, group_by }, signal) => json(address(sourcePath(id, "/statistics"), { path: paths, begin, end, group_by }), { signal });

/** Like `series`, but repeats the request with fewer columns if the server rejects the number of values. */
export async function seriesWithin(id, request, signal) {
  for (let { columns } = request; ; columns = Math.max(20, columns >> 2)) {
    try {
      return await series(id, { ...request, columns }, signal);
    } catch (problem) {
      if (problem.status !== 413 || columns <= 20) throw problem;
    }
  }
}

/** The name and the bytes of an export. `except` are paths of single counters that are excluded. */
export async function exported(id, { paths, except, begin, end, format, group_by }) {
  const response = await request(address(sourcePath(id, "/export"), { path: paths, except, begin, end, format, group_by }));
  const name = /filename="?([^";]+)"?/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  return { name: name ?? `selection.${format}`, blob: await response.blob() };
}

/** The stream of live values as an EventSource, with statistics of the last `window` intervals. */
export function stream({ paths, every, window, group_by }) {
  const url = address("stream", { path: paths, every, window, group_by });
  return isEmbedded ? new FetchedEvents(url, headers) : new EventSource(url);
}

/** Uploads a log; `onProgress` is called with values of 0 to 1. Returns `{promise, abort}`. */
export function upload(file, onProgress) {
  const sending = new XMLHttpRequest();
  const promise = new Promise((resolve, reject) => {
    sending.upload.addEventListener("progress", (event) => onProgress(event.total ? event.loaded / event.total : 0));
    sending.addEventListener("load", () => {
      let response = null;
      try {
        response = JSON.parse(sending.responseText);
      } catch {
        // Reported by status below.
      }
      if (sending.status >= 200 && sending.status < 300 && response) resolve(response);
      else reject(new ApiError(sending.status, response?.error ?? `The server rejected the log (status ${sending.status}).`));
    });
    sending.addEventListener("error", () => reject(new ApiError(0, "The upload was interrupted: the server rejected it or does not respond.")));
    sending.addEventListener("abort", () => reject(new DOMException("The upload was stopped.", "AbortError")));
  });
  sending.open("POST", address("upload", { name: file.name }));
  sending.setRequestHeader("Content-Type", "application/octet-stream");
  sending.send(file);
  return { promise, abort: () => sending.abort() };
}

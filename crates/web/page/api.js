// The HTTP interface. Every failure becomes an Error with one sentence for people; a server that is away is asked again.

import { serverState } from "./messages.js";
import { askToken } from "./token.js";

/** A refusal of the server: its sentence and its status. */
export class Refusal extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

const AWAY = "The server does not answer. Trying again…";
const SLOW = "The server takes long to answer. Still waiting…";
/** After so long without an answer it is told that the page waits. */
const SLOW_MS = 8000;
let isAway = false;
/** Requests that wait for so long. */
let slow = 0;
const waiting = new Set();

/** Calls back when the server answers again after it was away. */
export function onReturn(callback) {
  waiting.add(callback);
}

/** Whether the last request found no server. */
export function serverIsAway() {
  return isAway;
}

function tellState() {
  serverState(isAway ? AWAY : slow ? SLOW : null);
}

/** Tells when a request waits long; to be called back when it does not wait any more. */
function watchWaiting() {
  let isSlow = false;
  const count = (by) => {
    slow += by;
    tellState();
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

/** Says that the server is away and looks for it until it is back. */
export function lostServer() {
  if (isAway) return;
  isAway = true;
  tellState();
  let delay = 500;
  const look = async () => {
    try {
      await fetch("/api/sources", { cache: "no-store" });
      isAway = false;
      tellState();
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
    // Not JSON: the status has to do.
  }
  return `The server refused the request (status ${response.status}).`;
}

async function request(url, options = {}) {
  for (;;) {
    let response;
    const answered = watchWaiting();
    try {
      response = await fetch(url, { cache: "no-store", ...options });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      lostServer();
      throw new Refusal(0, "The server does not answer.");
    } finally {
      answered();
    }
    if (response.status === 401 && url !== "/api/login") {
      await askToken(login, await sentenceOf(response));
      continue;
    }
    if (!response.ok) throw new Refusal(response.status, await sentenceOf(response));
    return response;
  }
}

const json = async (url, options) => (await request(url, options)).json();

/** Trades a token for the cookie that later requests carry. */
export async function login(token) {
  await request("/api/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) });
}

/** `/api/NAME?...` with repeated `path`s; what is null is left out. */
export function address(name, parameters = {}) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== null && one !== undefined) query.append(key, one);
  }
  const text = query.toString();
  return `/api/${name}${text ? `?${text}` : ""}`;
}

const of = (id, rest = "") => `sources/${encodeURIComponent(id)}${rest}`;

export const sources = () => json(address("sources"));
export const source = (id) => json(address(of(id)));
export const sets = (id) => json(address(of(id, "/sets")));
export const instances = (id, set) => json(address(of(id, "/instances"), { set }));
export const openLog = (log) =>
  json(address("sources"), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ log }) });
export const closeSource = (id) => request(address(of(id)), { method: "DELETE" });

/** The counters of a source over a range, reduced to columns. Borders are RFC 3339 texts, or null for the whole. */
export const series = (id, { paths, begin, end, columns }, signal) =>
  json(address(of(id, "/series"), { path: paths, begin, end, columns }), { signal });

/** The file of a selection: its name and its bytes. `except` are paths of single counters that are left out. */
export async function exported(id, { paths, except, begin, end, format }) {
  const response = await request(address(of(id, "/export"), { path: paths, except, begin, end, format }));
  const name = /filename="?([^";]+)"?/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  return { name: name ?? `selection.${format}`, blob: await response.blob() };
}

/** The stream of live values as an EventSource. */
export const stream = (paths, every) => new EventSource(address("stream", { path: paths, every }));

/** Uploads a log; `onProgress` is told shares of 1. The answer has `promise` and `abort`. */
export function upload(file, onProgress) {
  const sending = new XMLHttpRequest();
  const promise = new Promise((resolve, reject) => {
    sending.upload.addEventListener("progress", (event) => onProgress(event.total ? event.loaded / event.total : 0));
    sending.addEventListener("load", () => {
      let answer = null;
      try {
        answer = JSON.parse(sending.responseText);
      } catch {
        // Told by the status below.
      }
      if (sending.status >= 200 && sending.status < 300 && answer) resolve(answer);
      else reject(new Refusal(sending.status, answer?.error ?? `The server refused the log (status ${sending.status}).`));
    });
    sending.addEventListener("error", () => reject(new Refusal(0, "The upload was cut: the server does not take it, or does not answer.")));
    sending.addEventListener("abort", () => reject(new DOMException("The upload was stopped.", "AbortError")));
  });
  sending.open("POST", address("upload", { name: file.name }));
  sending.setRequestHeader("Content-Type", "application/octet-stream");
  sending.send(file);
  return { promise, abort: () => sending.abort() };
}

// An embedded page. In a frame of another site, browsers do not send the cookie of the session. Therefore the link of the page has
// a token that gives access to embedded views only: `#embed=TOKEN`.

const token = tokenOf(location.hash);

function tokenOf(fragment) {
  const written = /[#&]embed=([^&]*)/.exec(fragment)?.[1];
  if (written === undefined) return null;
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}

/** Whether the page is embedded: it shows only its panels. */
export const isEmbedded = token !== null;

/** The headers of all requests. */
export const headers = token ? { Authorization: `Bearer ${token}` } : {};

/** The fragment of a link to this page. */
export const withEmbed = (fragment) => (isEmbedded ? `embed=${encodeURIComponent(token)}&${fragment}` : fragment);

document.documentElement.classList.toggle("embedded", isEmbedded);

const RETRY_MS = 2000;
const [CONNECTING, OPEN, CLOSED] = [0, 1, 2];

/** Server-sent events with request headers, which EventSource cannot send: the part of EventSource that the page uses. */
export class FetchedEvents extends EventTarget {
  constructor(url, headers) {
    super();
    this.readyState = CONNECTING;
    this.aborting = new AbortController();
    this.run(url, headers);
  }

  close() {
    this.readyState = CLOSED;
    this.aborting.abort();
  }

  async run(url, headers) {
    while (this.readyState !== CLOSED) {
      try {
        const response = await fetch(url, { headers, cache: "no-store", signal: this.aborting.signal });
        if (!response.ok) this.readyState = CLOSED;
        else await this.read(response.body);
      } catch {
        // Disconnected, or closed by the page.
      }
      if (this.aborting.signal.aborted) return;
      if (this.readyState !== CLOSED) this.readyState = CONNECTING;
      this.dispatchEvent(new Event("error"));
      if (this.readyState !== CLOSED) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  async read(body) {
    this.readyState = OPEN;
    this.dispatchEvent(new Event("open"));
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      const parts = text.split("\n\n");
      text = parts.pop();
      for (const part of parts) this.dispatch(part);
    }
  }

  dispatch(part) {
    const lines = part.split("\n");
    const valuesOf = (field) => lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2));
    const data = valuesOf("data");
    if (data.length) this.dispatchEvent(new MessageEvent(valuesOf("event")[0] ?? "message", { data: data.join("\n") }));
  }
}

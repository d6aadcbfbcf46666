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

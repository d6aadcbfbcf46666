// Colours and line styles of counters: Okabe and Ito's eight colours, moved so that all stand out from the ground (3:1 at
// least) and from each other, also for colour-blind readers, which a test measures; then the same with dashes, then thicker.

const LIGHT = ["#0d52b5", "#c12211", "#00865e", "#aa528f", "#cc8300", "#3896de", "#2b2b2b", "#61873c"];
const DARK = ["#6cacff", "#eb8904", "#09d57c", "#cd86af", "#f6f03d", "#ea5c41", "#dff0e9", "#7177fc"];
const DASHES = [[], [8, 4], [2, 3], [9, 3, 2, 3]];

/** How many styles differ in colour or dash. */
export const STYLES = LIGHT.length * DASHES.length;

/** The style of the counter with this number: `{colour, dash, width}`. */
export function lineStyle(number, theme) {
  const colours = theme === "dark" ? DARK : LIGHT;
  const round = Math.floor(number / colours.length);
  return {
    colour: colours[number % colours.length],
    dash: DASHES[round % DASHES.length],
    width: 1.5 + Math.min(2, Math.floor(round / DASHES.length)),
  };
}

/** The colour of a highlighted counter: black or white, as Performance Monitor has it. */
export function highlightColour(theme) {
  return theme === "dark" ? "#ffffff" : "#000000";
}

/** A colour with an opacity, for bands. */
export function faded(colour, opacity) {
  const number = Number.parseInt(colour.slice(1), 16);
  return `rgba(${number >> 16}, ${(number >> 8) & 255}, ${number & 255}, ${opacity})`;
}

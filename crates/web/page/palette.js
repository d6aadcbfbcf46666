// Colours and line styles of counters. The first styles are Okabe and Ito's eight colours, adjusted so that a test finds enough
// contrast to the background (at least 3:1) and to each other, also for colour-blind readers. The next styles are the same colours
// with dashes, and then with thicker lines.

const LIGHT = ["#0d52b5", "#c12211", "#00865e", "#aa528f", "#cc8300", "#3896de", "#2b2b2b", "#61873c"];
const DARK = ["#7177fc", "#ea5c41", "#09d57c", "#cd86af", "#eb8904", "#6cacff", "#dff0e9", "#f6f03d"];
const DASHES = [[], [8, 4], [2, 3], [9, 3, 2, 3]];

/** The number of colours, and of styles that differ in colour or dash. */
export const COLOURS = LIGHT.length;
export const STYLES = COLOURS * DASHES.length;

/** The n-th style: `{colour, dash, width}`. */
export function lineStyle(number, theme) {
  const colours = theme === "dark" ? DARK : LIGHT;
  const round = Math.floor(number / colours.length);
  return {
    colour: colours[number % colours.length],
    dash: DASHES[round % DASHES.length],
    width: 1.5 + Math.min(2, Math.floor(round / DASHES.length)),
  };
}

/** Whether a style has no dashes. */
export const isPlainStyle = (number) => number < COLOURS;

/** The dashes of a counter of the n-th source; `number` is the style of the same counter of the first source. */
export const dashOf = (number, nth) => DASHES[1 + ((Math.floor(number / COLOURS) + nth - 1) % (DASHES.length - 1))];

/** The colour of a highlighted counter: black or white, as in Performance Monitor. */
export function highlightColour(theme) {
  return theme === "dark" ? "#ffffff" : "#000000";
}

/** A translucent colour, for bands. */
export function faded(colour, opacity) {
  const number = Number.parseInt(colour.slice(1), 16);
  return `rgba(${number >> 16}, ${(number >> 8) & 255}, ${number & 255}, ${opacity})`;
}

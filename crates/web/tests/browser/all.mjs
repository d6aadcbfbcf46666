// Runs all tests in one process, so that they share a browser.
import "./vendored.test.mjs";
import "./stripped.test.mjs";
import "./units.test.mjs";
import "./live.test.mjs";
import "./panels.test.mjs";
import "./figures.test.mjs";
import "./notes.test.mjs";
import "./fleet.test.mjs";
import "./faults.test.mjs";
import "./logs.test.mjs";
import "./saving.test.mjs";
import "./looks.test.mjs";
import "./keyboard.test.mjs";
import "./errors.test.mjs";
import "./record.test.mjs";
import "./embed.test.mjs";
import "./corpus.test.mjs";

// Several machines: the table of machines, one machine, machines in the tree.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { pointAt, scratch, screenshots, serve, TACHO, tacho, test, withPage } from "./harness.mjs";
import { logOf, panelLink } from "./logs.mjs";

/** A server for ten machines: one agent under nine names, and a machine that does not answer. */
async function fleet() {
  const folder = path.join(scratch, "fleet");
  const agent = path.join(folder, "agent");
  fs.mkdirSync(path.join(folder, "tachograph"), { recursive: true });
  const line = await tacho("agent", "setup", "--name", "web0", "--address", "127.0.0.1:1", "--folder", agent);
  const child = spawn(TACHO, ["agent", "--listen", "127.0.0.1:0", "--folder", agent], { stdio: ["ignore", "ignore", "pipe"] });
  process.on("exit", () => child.kill());
  const port = await new Promise((resolve) => createInterface({ input: child.stderr }).on("line", (text) => resolve(/:(\d+)$/.exec(text)?.[1])));
  const lines = [...Array(9).keys()].map((index) => line.replace("web0 =", `web${index} =`).replace('127.0.0.1:1"', `127.0.0.1:${port}"`));
  const file = path.join(folder, "tachograph", "machines.toml");
  fs.writeFileSync(file, [...lines, line.replace("web0 =", "absent =")].join(""), { mode: 0o600 });
  process.env.XDG_CONFIG_HOME = folder;
  const server = await serve("-s", "@all", "--interval", "0.5");
  delete process.env.XDG_CONFIG_HOME;
  const stop = async () => {
    await server.stop();
    child.kill();
  };
  return { ...server, stop };
}

/** The rows of the table: name and values. */
const rows = (page) =>
  page.evaluate(() => [...document.querySelectorAll("#fleet-body tr")].map((row) => ({ name: row.querySelector("th").textContent, values: [...row.querySelectorAll("td")].map((cell) => (cell.dataset.value === "" ? null : Number(cell.dataset.value))) })));

async function rowsThat(page, isWanted, what) {
  for (let tries = 0; tries < 100; tries += 1) {
    const found = await rows(page);
    if (isWanted(found)) return found;
    await page.waitForTimeout(200);
  }
  throw new Error(`${what}: ${JSON.stringify(await rows(page))}`);
}

test("fleet: the table has a row for each machine and one for all, and a click opens a machine", async () => {
  const server = await fleet();
  await withPage("fleet", server.url, async (page) => {
    // With many machines, the page begins with the table.
    const all = await rowsThat(page, (found) => found.length === 11 && found[0].values[0] !== null && found[1].values[0] !== null, "values of the first column");
    assert.equal(all[0].name, "All machines");
    assert.equal(all.at(-1).name, "absent", "a machine without values is last");
    const own = all.slice(1, -1).map(({ values }) => values[0]);
    assert.deepEqual(own, own.toSorted((one, other) => other - one), "sorted by the first column");
    // The merged value is between the values of the machines.
    assert.ok(all[0].values[0] >= Math.min(...own) - 1e-9 && all[0].values[0] <= Math.max(...own) + 1e-9, JSON.stringify(all));
    await page.waitForSelector("#fleet-chart canvas");
    await page.screenshot({ path: path.join(screenshots, "fleet-chart.png") });
    assert.match(await page.textContent("#fleet-chart"), /All machines/);

    // For a counter with instances, the chart has the sum of the instances as a line per machine.
    await page.click("#fleet-head button:has-text('Bytes Total/sec (*)')");
    await page.waitForFunction(() => document.querySelectorAll(".fleet-line").length === 10);
    const lines = await page.evaluate(() => [...document.querySelectorAll(".fleet-line")].map((line) => line.childNodes[1].textContent));
    assert.equal(new Set(lines).size, 10, JSON.stringify(lines));
    assert.ok(lines.includes("web0") && lines.includes("All machines"), JSON.stringify(lines));

    await page.click("#fleet-head th:nth-child(3) button");
    await page.waitForSelector("#fleet-head th:nth-child(3)[aria-sort=descending]");
    await page.click("#fleet-head th:nth-child(3) button");
    await page.waitForSelector("#fleet-head th:nth-child(3)[aria-sort=ascending]");
    await page.fill("#fleet-filter", "WEB3");
    await rowsThat(page, (found) => found.length === 2 && found[1].name === "web3", "the filtered rows");
    await page.fill("#fleet-filter", "");
    await page.fill("#fleet-top", "3");
    await page.keyboard.press("Tab");
    await rowsThat(page, (found) => found.length === 4, "the first three machines");
    await page.fill("#fleet-path", "\\System\\Processes");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#fleet-head th:has-text('Processes')");
    await page.fill("#fleet-top", "50");
    await page.keyboard.press("Tab");
    await rowsThat(page, (found) => found.length === 11 && found[1].values.at(-1) > 0, "values of the added column");

    await page.click("#fleet-body button:has-text('web5')");
    await page.waitForFunction(() => document.getElementById("fleet").hidden);
    await page.waitForFunction(() => document.querySelectorAll(".legend-line, #legend-body tr").length > 3);
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes("web5"));
    assert.doesNotMatch(await page.evaluate(() => decodeURIComponent(location.hash)), /web4/);
    await page.click("#fleet-button");
    await rowsThat(page, (found) => found.length === 11, "the table again");
    await page.click("#add-button");
    const names = () => page.evaluate(() => [...document.querySelectorAll("#tree [aria-level='1'] .tree-name")].map((item) => item.textContent));
    await page.waitForSelector("#tree [aria-level='1']:has-text('web8')");
    assert.deepEqual((await names()).slice(0, 3), ["All machines", "absent", "web0"]);
    await page.click("#tree [aria-level='1']:has-text('web8')");
    await page.click("#tree [aria-level='2'] .tree-name:text-is('System')");
    await page.dblclick("#tree [aria-level='3'] .tree-name:text-is('Processes')");
    await page.waitForFunction(() => decodeURIComponent(location.hash).includes("web8"));
  });
  await server.stop();
});

test("fleet: legends and the box at the pointer name the machine if a panel has several", async () => {
  const machines = ["WEB1", "WEB2", "WEB3"];
  const counters = machines.flatMap((machine, index) => [
    [`${machine}\\Processor Information(_Total)\\% User Time`, () => 10 * (index + 1)],
    [`${machine}\\System\\Threads`, () => 100 * (index + 1)],
  ]);
  // The paths of the log begin with its machines.
  const server = await serve(logOf("machines.csv", Object.fromEntries(counters), 60, ""));
  const user = { path: "\\\\*\\Processor Information(_Total)\\% User Time", label: "user" };
  const panels = [{ id: 1, title: "Labels", counters: [user] }, { id: 2, title: "Counters", counters: [{ path: "\\\\*\\System\\Threads" }] }, { id: 3, title: "One machine", counters: [{ ...user, path: user.path.replace("*", "WEB2") }] }];
  await withPage("fleet-names", `${server.url}#${panelLink(...panels)}`, async (page) => {
    const panelOf = (title) => page.locator(`.panel[aria-label="${title}"]`);
    const namesOf = (title) => panelOf(title).locator(".legend-line:visible .legend-name").allTextContents();
    await panelOf("One machine").locator(".legend-line").first().waitFor();
    assert.deepEqual(await namesOf("Labels"), machines.map((machine) => `${machine} _Total user`));
    assert.deepEqual(await namesOf("Counters"), machines.map((machine) => `${machine} Threads`));
    assert.deepEqual(await namesOf("One machine"), ["user"]);
    const plot = await panelOf("Labels").locator(".u-over").boundingBox();
    const box = await pointAt(page, plot.x + plot.width / 2, plot.y + plot.height / 2, (text) => text.includes("user"));
    assert.ok(machines.every((machine) => box.includes(`${machine} _Total user`)), box);
  });
  await server.stop();
});

// The page in real browsers: `cargo xtask web --test`. Every result is decrypted and compared by
// the page itself; here it is read, and the time that the page was ever blocked.

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import puppeteer from "puppeteer-core";
import { files } from "../files.js";

const pictures = new URL("../../target/web/pictures/", import.meta.url);
const toys = "?bits=INSECURE_TOY&integers=INSECURE_INTEGERS&vectors=INSECURE_CKKS_D40_N10";
/** Milliseconds; more, by hand, on a machine that is busy with other work. */
const LONGEST_PAUSE = Number(process.env.GIRIH_LONGEST_PAUSE ?? 100);
const LONGEST_TASK = 600_000;

const server = files();
const measured = [];
before(async () => {
  await mkdir(pictures, { recursive: true });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
});
after(async () => {
  server.close();
  await writeFile(new URL("measured.json", pictures), JSON.stringify(measured, null, 1));
});

const chromium = (...args) => ({
  browser: "chrome",
  executablePath: process.env.GIRIH_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", ...args],
});
const firefox = (webgpu) => ({
  browser: "firefox",
  executablePath: process.env.GIRIH_FIREFOX ?? "/usr/bin/firefox-esr",
  extraPrefsFirefox: webgpu
    ? { "dom.webgpu.enabled": true, "gfx.webgpu.ignore-blocklist": true }
    : { "dom.webgpu.enabled": false },
});

/** Opens the page, runs `steps`, closes; nothing may block it for LONGEST_PAUSE. */
async function visit(name, options, query, steps) {
  const browser = await puppeteer.launch({ headless: true, protocolTimeout: LONGEST_TASK,
    ...options });
  try {
    const page = await browser.newPage();
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    await page.setViewport({ width: 1180, height: 860 });
    await page.goto(`http://127.0.0.1:${server.address().port}/${query}`);
    await page.waitForSelector("#found[data-webgpu]");
    // From here on: how long nothing else could run.
    await page.evaluate(() => {
      window.pause = 0;
      let last = performance.now();
      setInterval(() => {
        const now = performance.now();
        window.pause = Math.max(window.pause, now - last);
        last = now;
      }, 10);
    });
    await steps(page);
    const pause = await page.evaluate(() => window.pause);
    measured.push({ name, what: "longest pause of the page", ms: pause });
    assert.ok(pause < LONGEST_PAUSE, `the page was blocked for ${pause.toFixed(0)} ms`);
    assert.deepEqual(complaints, []);
    const picture = await page.screenshot({ fullPage: true });
    await writeFile(new URL(`${name}.png`, pictures), picture);
  } finally {
    await browser.close();
  }
}

const text = (page, selector) => page.$eval(selector, (element) => element.textContent);

async function open(page, name, device) {
  await page.click(`#use-${device}`);
  await page.waitForFunction(
    () => /^(Computing|That did not)/.test(document.querySelector("#found").textContent),
    { timeout: LONGEST_TASK });
  const found = await text(page, "#found");
  assert.match(found, /^Computing on/);
  measured.push({ name, what: found });
}

/** Runs a card; it must say that its result is right, and show bytes and times. */
async function run(page, name, card) {
  await page.click(`#${card} form button:not([type])`);
  await page.waitForFunction((card) =>
    document.querySelector(`#${card} .outcome`)?.textContent, { timeout: LONGEST_TASK }, card);
  const outcome = await text(page, `#${card} .outcome`);
  const steps = await page.$$eval(`#${card} .steps li`, (lines) => lines.map((line) =>
    [".what", ".size", ".time"].map((part) => line.querySelector(part).textContent)));
  const holders = await page.$$eval(`#${card} .steps li`, (lines) => lines.map((line) =>
    [".who", ".holds"].map((part) => line.querySelector(part).textContent)));
  assert.ok(holders.every(([who, holds]) => /^(you|server)$/.test(who) && holds.includes(who)),
    JSON.stringify(holders));
  measured.push({ name, card, outcome, steps });
  assert.match(outcome, /\u2713 right$/, JSON.stringify(steps));
  assert.ok(steps.every(([what, , time]) => what && /ms|s$/.test(time)), JSON.stringify(steps));
  assert.match(await text(page, `#${card} .bytes`), /[0-9a-f]{64}/);
  return steps;
}

/** Milliseconds of steps, as the page shows them. */
function milliseconds(steps, wanted) {
  const times = steps.filter(([what]) => wanted.includes(what)).map(([, , time]) => {
    const [number, unit] = time.replace("< ", "").split(" ");
    return Number(number) * (unit === "s" ? 1000 : 1);
  });
  assert.equal(times.length, wanted.length);
  return times.reduce((sum, time) => sum + time, 0);
}

async function all(page, name) {
  for (const card of ["bits", "integers", "vectors"]) await run(page, name, card);
}

/** A page without WebGPU says so, and computes on the CPU once that is asked for. */
async function asksFirst(page) {
  assert.match(await text(page, "#found"), /^This browser has .*WebGPU.*if you want that/);
  const disabled = (selector) => page.$eval(selector, (button) => button.disabled);
  assert.ok(await disabled("#use-webgpu"));
  const primary = await page.$$eval("#device button:not(.second)", (buttons) =>
    buttons.map((button) => [button.id, button.disabled]));
  assert.deepEqual(primary, [["use-cpu", false]]);
  for (const card of ["bits", "integers", "vectors"]) {
    assert.ok(await disabled(`#${card} form button:not([type])`), card);
  }
  assert.equal(page.workers?.().length ?? 0, 0);
}

test("Chromium without WebGPU: real sets on the CPU, when asked to", async () => {
  const name = "chromium-cpu";
  await visit(name, chromium("--disable-features=WebGPUService", "--disable-gpu"), "",
    async (page) => {
      await asksFirst(page);
      await open(page, name, "cpu");
      const steps = await run(page, name, "bits");
      const first = milliseconds(steps, steps.map(([what]) => what));
      measured.push({ name, what: "first STD128 NAND after loading, keys included", ms: first });
      await run(page, name, "bits");
      await run(page, name, "integers");
      await run(page, name, "vectors");
    });
});

test("Chromium with WebGPU, in software", async () => {
  const name = "chromium-webgpu";
  await visit(name, chromium("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader",
    "--enable-features=Vulkan"), toys, async (page) => {
    assert.match(await text(page, "#found"), /^This browser has WebGPU[ (.]/);
    await open(page, name, "webgpu");
    await all(page, name);
    await all(page, name);
  });
});

test("Chromium: what goes wrong is said, and a task can be stopped", async () => {
  const name = "chromium-errors";
  await visit(name, chromium(), "", async (page) => {
    const links = await page.$$eval("a[href]", (all) => all.map((link) => link.href));
    assert.ok(links.length > 5);
    for (const link of links) assert.equal((await fetch(link)).status, 200, link);
    await open(page, name, "cpu");
    await page.$eval("#integers [name=a]", (input) => { input.value = "300"; });
    await page.click("#integers form button:not([type])");
    await page.waitForSelector("#integers .outcome.bad");
    assert.match(await text(page, "#integers .outcome"), /a is 300: .* from 0 to 255/);
    // What is edited has no result yet.
    await page.type("#integers [name=b]", "1");
    assert.equal(await page.$("#integers .outcome"), null);
    for (const field of ["a", "b"]) {
      await page.$eval(`#integers [name=${field}]`, (input) => { input.value = "7"; });
    }
    await page.$eval("#vectors [name=x]", (input) => { input.value = "1 2 three"; });
    await page.click("#vectors form button:not([type])");
    await page.waitForSelector("#vectors .outcome.bad");
    assert.match(await text(page, "#vectors .outcome"), /\u201cthree\u201d in x is no number/);
    await page.click("#integers form button:not([type])");
    await page.waitForSelector("#integers .steps li");
    await page.click("#stop");
    assert.match(await text(page, "#integers .outcome"), /stopped/);
    assert.match(await text(page, "#found"), /^Stopped/);
  });
});

test("Firefox without WebGPU: the CPU, when asked to", async () => {
  const name = "firefox-cpu";
  await visit(name, firefox(false), toys, async (page) => {
    await asksFirst(page);
    await open(page, name, "cpu");
    await all(page, name);
  });
});

test("Firefox with WebGPU, in software", async () => {
  const name = "firefox-webgpu";
  await visit(name, firefox(true), toys, async (page) => {
    assert.match(await text(page, "#found"), /^This browser has WebGPU[ (.]/);
    await open(page, name, "webgpu");
    await all(page, name);
  });
});

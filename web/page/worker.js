// Everything that computes: the page stays free. It gets tasks, one after the other, and tells of
// each step when it begins, how far it is, and when it ends.

import init, * as girih from "./girih/index.js";

/** @typedef {import("./protocol.js").Task} Task */
/** @typedef {import("./protocol.js").Told} Told */
/** @typedef {import("./protocol.js").Sets} Sets */
/** @typedef {import("./protocol.js").Who} Who */

/** @type {(told: Told) => void} */
const tell = (told) => postMessage(told);

/** @type {girih.Device | undefined} */
let device;

/**
 * Keys and servers, made at the first task that needs them and then kept.
 * @type {{
 *   bits?: { client: girih.ClientKey, server: girih.ServerKey },
 *   integers?: { client: girih.ClientKey, server: girih.Integers },
 *   vectors?: { client: girih.CkksClientKey, server: girih.CkksServerKey, length: number },
 * }}
 */
const kept = {};

/**
 * Runs a step, timed.
 * @template T
 * @param {Who} who
 * @param {string} what
 * @param {string} holds
 * @param {() => T | Promise<T>} run
 * @param {(result: T) => number} [bytes] how many it made
 * @returns {Promise<T>}
 */
async function step(who, what, holds, run, bytes) {
  tell({ kind: "begin", who, what, holds });
  const start = performance.now();
  const result = await run();
  const ms = performance.now() - start;
  tell({ kind: "end", what, ms, bytes: bytes?.(result) });
  return result;
}

/** The open device. */
function opened() {
  if (!device) throw new Error("no device is open: choose one first");
  return device;
}

/**
 * Makes keys and loads them.
 * @template {{ bytes: number, free(): void }} Keys
 * @template Server
 * @param {() => Keys} make
 * @param {(keys: Keys) => Promise<Server>} load
 */
async function serve(make, load) {
  const keys = await step("you", "make keys",
    "you keep the client key, the server gets the evaluation keys", make, (keys) => keys.bytes);
  const server = await step("server", "load keys",
    "the server has evaluation keys, which decrypt nothing", () => load(keys));
  keys.free();
  return server;
}

/** What the page lets numbers be, which ciphertexts declare. */
const LARGEST = 1000;
/** The product takes one level; the other is room for sums of numbers as large as declared. */
const LEVEL = 2;

const SENT = "you keep the values, the server gets ciphertexts";
const COMPUTED = "the server has one more ciphertext, and learned nothing";
const READ = "you have the result, nobody else has";

const length = (/** @type {Uint8Array} */ bytes) => bytes.length;
const both = (/** @type {Uint8Array[]} */ all) => all.reduce((sum, one) => sum + one.length, 0);
const shown = (/** @type {Uint8Array} */ bytes) => bytes.slice(0, 4096);

/** @type {Record<string, (a: number, b: number) => number>} */
const GATES = {
  and: (a, b) => a & b, nand: (a, b) => 1 - (a & b),
  or: (a, b) => a | b, nor: (a, b) => 1 - (a | b),
  xor: (a, b) => a ^ b, xnor: (a, b) => 1 - (a ^ b),
};

const TASKS = {
  /** @param {{ gate: "nand", a: number, b: number }} task @param {Sets} sets */
  async bits({ gate, a, b }, sets) {
    if (!kept.bits) {
      const client = girih.ClientKey.generate(sets.bits);
      const make = () => client.evaluationKeys();
      const server = await serve(make, (keys) => girih.ServerKey.load(opened(), keys));
      kept.bits = { client, server };
    }
    const { client, server } = kept.bits;
    const inputs = await step("you", "encrypt both", SENT, () =>
      [a, b].map((bit) => client.encryptBits(new Uint8Array([bit]))), both);
    const [x, y] = inputs;
    const output = await step("server", gate.toUpperCase(), COMPUTED,
      () => server.gate(gate, x, y), length);
    const [got] = await step("you", "decrypt", READ, () => client.decryptBits(output));
    const [say, want] = [`${a} ${gate.toUpperCase()} ${b}`, GATES[gate](a, b)];
    return { lines: [`${say} = ${got}`], right: got === want, bytes: shown(output) };
  },

  /** @param {{ width: number, a: number, b: number }} task @param {Sets} sets */
  async integers({ width, a, b }, sets) {
    if (!kept.integers) {
      const client = girih.ClientKey.generate(sets.integers);
      const make = () => client.evaluationKeys();
      const server = await serve(make, (keys) => girih.Integers.load(opened(), keys));
      kept.integers = { client, server };
    }
    const { client, server } = kept.integers;
    const inputs = await step("you", "encrypt both", SENT, () =>
      [a, b].map((value) => client.encryptIntegers(width, new Float64Array([value]))), both);
    const [x, y] = inputs;
    const sum = await step("server", "add", COMPUTED,
      () => server.compute("add", width, x, y), length);
    const product = await step("server", "multiply", COMPUTED,
      () => server.compute("multiply", width, x, y), length);
    const got = await step("you", "decrypt", READ, () =>
      [sum, product].map((bytes) => client.decryptIntegers(width, bytes)[0]));
    const modulus = 2 ** width;
    const want = [(a + b) % modulus, (a * b) % modulus];
    const wrapped = (/** @type {number} */ v) => (v >= modulus ? `, modulo ${modulus}` : "");
    return {
      lines: [
        `${a} + ${b} = ${got[0]}${wrapped(a + b)}`,
        `${a} \u00d7 ${b} = ${got[1]}${wrapped(a * b)}`,
      ],
      right: got.every((value, i) => value === want[i]),
      bytes: shown(product),
    };
  },

  /** @param {{ x: number[], y: number[] }} task @param {Sets} sets */
  async vectors({ x, y }, sets) {
    if (!kept.vectors || kept.vectors.length < x.length) {
      const client = girih.CkksClientKey.generate(sets.vectors);
      const make = () => client.dotKeys(x.length, LEVEL);
      const server = await serve(make, (keys) => girih.CkksServerKey.load(opened(), keys));
      kept.vectors?.server.free();
      kept.vectors = { client, server, length: x.length };
    }
    const { client, server } = kept.vectors;
    const inputs = await step("you", "encrypt both", SENT, () =>
      [x, y].map((values) => client.encrypt(new Float64Array(values), LEVEL, LARGEST)), both);
    const output = await step("server", "dot product", COMPUTED,
      () => server.dot(inputs[0], inputs[1]), length);
    const [got] = await step("you", "decrypt", READ, () => client.decrypt(output));
    const want = x.reduce((sum, value, i) => sum + value * y[i], 0);
    const error = Math.abs(got - want);
    return {
      lines: [`x \u00b7 y = ${got.toFixed(6)}, off by ${error.toExponential(1)}`],
      right: error < 1e-4 * Math.max(1, x.length / 64),
      bytes: shown(output),
    };
  },
};

/** @param {Task} task */
async function run(task) {
  try {
    if (task.name === "open") {
      await init();
      girih.onProgress((what, done, total) => tell({ kind: "progress", what, done, total }));
      device = await girih.Device.open(task.device);
      tell({ kind: "opened", name: device.name, software: device.software });
    } else {
      // The task's name chooses what it holds.
      const outcome = await TASKS[task.name](/** @type {any} */ (task), task.sets);
      tell({ kind: "done", ...outcome });
    }
  } catch (error) {
    const trapped = error instanceof WebAssembly.RuntimeError;
    const why = error instanceof Error ? error.message : String(error);
    tell({ kind: "failed", why: trapped ? `the module ended (${why})` : why, trapped });
  }
}

let last = Promise.resolve();
addEventListener("message", ({ data }) => {
  last = last.then(() => run(data));
});

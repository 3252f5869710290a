// The page: asks the worker, draws what it tells. Nothing here computes.

import { whyNoWebGpu } from "./girih/index.js";

/** @typedef {import("./protocol.js").Task} Task */
/** @typedef {import("./protocol.js").Told} Told */
/** @typedef {"bits" | "integers" | "vectors"} Card */

/**
 * @template {Element} T
 * @param {string} selector @param {new () => T} kind @param {ParentNode} [within]
 * @returns {T}
 */
function find(selector, kind, within = document) {
  const found = within.querySelector(selector);
  if (!(found instanceof kind)) throw new Error(`the page has no ${selector}`);
  return found;
}

/** @type {Card[]} */
const CARDS = ["bits", "integers", "vectors"];
const question = new URLSearchParams(location.search);
/** Sets may be named in the address, for tests: `?bits=INSECURE_TOY`. */
const sets = {
  bits: question.get("bits") ?? "STD128",
  integers: question.get("integers") ?? "GIRIH_2_2",
  vectors: question.get("vectors") ?? "CKKS_N14_D40",
};

/** What a set is for, and what it costs an attacker: docs/parameters.md has the rest.
 * @type {Record<string, string>} */
const ABOUT = {
  STD128: "STD128 is the set for gates: exact, at a security of 124 bits.",
  GIRIH_2_2: "GIRIH_2_2 holds two bits and two of carry in a ciphertext: exact, at 128 bits.",
  CKKS_N14_D40: "CKKS_N14_D40 holds up to 8,192 numbers: approximate, at 137 bits.",
};

const found = find("#found", HTMLElement);
const useWebGpu = find("#use-webgpu", HTMLButtonElement);
const useCpu = find("#use-cpu", HTMLButtonElement);
const stop = find("#stop", HTMLButtonElement);

/** @type {Worker | undefined} */
let worker;
/** Hears what the worker tells of the task in hand. @type {(told: Told) => void} */
let listener = () => {};
/** Draws the task in hand. @type {((told: Told) => void) | undefined} */
let drawing;

const size = (/** @type {number} */ bytes) =>
  bytes < 1000 ? `${bytes} B`
  : bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} KB`
  : `${(bytes / 1e6).toFixed(1)} MB`;
const time = (/** @type {number} */ ms) =>
  ms < 1 ? "< 1 ms" : ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`;
const hexadecimal = (/** @type {Uint8Array} */ bytes) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Lets cards run, or not. @param {boolean} ready @param {Card} [busy] what is not to be edited */
function allow(ready, busy) {
  for (const card of CARDS) {
    const form = find(`#${card} form`, HTMLFormElement);
    for (const part of form.elements) {
      if (part instanceof HTMLButtonElement && part.type === "submit") part.disabled = !ready;
      else /** @type {HTMLInputElement} */ (part).disabled = card === busy;
    }
    find(".wait", HTMLElement, form).hidden = ready || worker !== undefined;
  }
}

/** Ends the worker; its keys go with it. */
function end() {
  worker?.terminate();
  worker = undefined;
  listener = () => {};
  allow(false);
  stop.hidden = true;
  useCpu.disabled = false;
  useWebGpu.disabled = useWebGpu.dataset.missing !== undefined;
}

/** Gives the worker a task; ends with what it told last. @param {Task} task
 * @param {(told: Told) => void} [hear] @returns {Promise<Told>} */
function ask(task, hear = () => {}) {
  return new Promise((resolve) => {
    listener = (told) => {
      hear(told);
      if (["opened", "done", "failed"].includes(told.kind)) resolve(told);
    };
    worker?.postMessage(task);
  });
}

/** @param {"cpu" | "webgpu"} device */
async function open(device) {
  end();
  useCpu.disabled = useWebGpu.disabled = true;
  stop.hidden = false;
  found.textContent = "Loading the module \u2026";
  const start = performance.now();
  worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  worker.addEventListener("message", ({ data }) => listener(data));
  worker.addEventListener("error", (event) =>
    listener({ kind: "failed", why: event.message || "the worker did not load", trapped: true }));
  const told = await ask({ name: "open", device });
  if (told.kind === "opened") {
    const what = device === "cpu" ? "the CPU, one thread" : `WebGPU, ${told.name}`;
    const software =
      told.software ? " (a program that stands in for a GPU; the CPU is faster)" : "";
    found.textContent =
      `Computing on ${what}${software}. Ready after ${time(performance.now() - start)}.`;
    allow(true);
  } else if (told.kind === "failed") {
    end();
    found.textContent = `That did not work: ${told.why}.`;
  }
}

/** Takes away what a card says of values that it no longer has. @param {HTMLElement} card */
function clear(card) {
  card.querySelectorAll(".steps, .bytes, .outcome").forEach((old) => old.remove());
}

/** Fresh lines for a card's steps. @param {HTMLElement} card */
function report(card) {
  clear(card);
  const template = find("#report", HTMLTemplateElement);
  card.append(template.content.cloneNode(true));
  const steps = find(".steps", HTMLElement, card);
  /** @type {HTMLElement | undefined} */
  let line;
  let began = 0;
  const clock = setInterval(() => {
    if (line) find(".time", HTMLElement, line).textContent = time(performance.now() - began);
  }, 100);
  return (/** @type {Told} */ told) => {
    if (told.kind === "begin") {
      steps.append(find("#step", HTMLTemplateElement).content.cloneNode(true));
      line = /** @type {HTMLElement} */ (steps.lastElementChild);
      began = performance.now();
      const who = find(".who", HTMLElement, line);
      who.textContent = told.who;
      who.classList.add(told.who);
      find(".what", HTMLElement, line).textContent = told.what;
      find(".holds", HTMLElement, line).textContent = told.holds;
      find("progress", HTMLProgressElement, line).setAttribute("aria-label", told.what);
    } else if (told.kind === "progress" && line) {
      find("progress", HTMLProgressElement, line).value = told.done / told.total;
    } else if (told.kind === "end" && line) {
      line.classList.add("done");
      find(".time", HTMLElement, line).textContent = time(told.ms);
      find(".size", HTMLElement, line).textContent =
        told.bytes === undefined ? "" : size(told.bytes);
      line = undefined;
    } else if (told.kind === "done" || told.kind === "failed") {
      clearInterval(clock);
      line?.classList.add("done");
      const outcome = find(".outcome", HTMLElement, card);
      if (told.kind === "failed") {
        outcome.textContent = `Failed: ${told.why}.`;
        outcome.classList.add("bad");
      } else {
        const verdict = told.right ? "\u2713 right" : "\u2717 WRONG";
        outcome.textContent = [...told.lines, verdict].join("\n");
        outcome.classList.add(told.right ? "good" : "bad");
        find(".bytes", HTMLElement, card).textContent =
          `result, encrypted: ${hexadecimal(told.bytes.slice(-48))}\u2026`;
      }
    }
  };
}

/** @param {Card} name @param {(form: FormData) => any} task what the form asks for */
function connect(name, task) {
  const card = find(`#${name}`, HTMLElement);
  const form = find("form", HTMLFormElement, card);
  find(".set", HTMLElement, card).textContent = sets[name];
  find(".about", HTMLElement, card).textContent = ABOUT[sets[name]] ?? "";
  form.addEventListener("input", () => clear(card));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const hear = report(card);
    let asked;
    try {
      asked = task(new FormData(form));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      hear({ kind: "failed", why, trapped: false });
      return;
    }
    allow(false, name);
    drawing = hear;
    const told = await ask({ name, sets, ...asked }, hear);
    drawing = undefined;
    if (told.kind === "failed" && told.trapped) {
      end();
      found.textContent = "The module ended. Choose a device to begin anew.";
    } else {
      allow(true);
    }
  });
}

connect("bits", (form) =>
  ({ gate: form.get("gate"), a: form.has("a") ? 1 : 0, b: form.has("b") ? 1 : 0 }));

connect("integers", (form) => {
  const width = Number(form.get("width"));
  const [a, b] = ["a", "b"].map((name) => {
    const [text, value] = [String(form.get(name)), Number(form.get(name))];
    if (text === "" || !Number.isInteger(value) || value < 0 || value >= 2 ** width) {
      const given = text === "" ? "is missing" : `is ${text}`;
      throw new Error(`${name} ${given}: it must be a whole number from 0 to ${2 ** width - 1}`);
    }
    return value;
  });
  return { width, a, b };
});

connect("vectors", (form) => {
  const [x, y] = ["x", "y"].map((name) =>
    String(form.get(name)).split(/[\s,;]+/).filter((word) => word).map((word) => {
      const value = Number(word);
      if (!Number.isFinite(value) || Math.abs(value) > 1000) {
        throw new Error(`\u201c${word}\u201d in ${name} is no number from -1000 to 1000`);
      }
      return value;
    }));
  if (x.length !== y.length || x.length === 0 || x.length > 8192) {
    throw new Error(
      `x has ${x.length} numbers and y ${y.length}: they must have as many, 1 to 8192`);
  }
  return { x, y };
});
const vectors = find("#vectors form", HTMLFormElement);
find("[name=random]", HTMLButtonElement, vectors).addEventListener("click", () => {
  clear(find("#vectors", HTMLElement));
  for (const name of ["x", "y"]) {
    find(`[name=${name}]`, HTMLInputElement, vectors).value =
      Array.from({ length: 1024 }, () => (2 * Math.random() - 1).toFixed(3)).join(" ");
  }
});

if (Object.values(sets).some((set) => set.includes("INSECURE"))) {
  const notice = find("#sets", HTMLElement);
  notice.hidden = false;
  notice.textContent = "The address names INSECURE sets, which protect nothing: for tests alone.";
}
useWebGpu.addEventListener("click", () => open("webgpu"));
useCpu.addEventListener("click", () => open("cpu"));
stop.addEventListener("click", () => {
  end();
  drawing?.({ kind: "failed", why: "stopped, and its keys are gone", trapped: true });
  drawing = undefined;
  found.textContent = "Stopped. Choose a device to begin anew.";
});

const why = await whyNoWebGpu();
if (why === undefined) {
  /** @type {any} */
  const gpu = /** @type {any} */ (navigator).gpu;
  const { vendor, architecture } = (await gpu.requestAdapter()).info ?? {};
  const name = [vendor, architecture].filter((word) => word).join(" ");
  found.textContent = `This browser has WebGPU${name ? ` (${name})` : ""}.`;
  useWebGpu.disabled = false;
  useCpu.classList.add("second");
} else {
  useWebGpu.dataset.missing = "";
  useWebGpu.classList.add("second");
  const sentence = why[0].toUpperCase() + why.slice(1);
  found.textContent = `${sentence}. The CPU can do the same, in one thread, if you want that.`;
}
found.dataset.webgpu = why === undefined ? "there" : "missing";

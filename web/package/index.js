// Where JavaScript Promise Integration is missing, stand-ins let the module load: they call
// straight through, which does for the CPU, since nothing there waits. The module asks `missing`
// before it offers WebGPU.
const standIn = (/** @type {any} */ call) => call;
/** @type {any} */
const assembly = WebAssembly;
assembly.Suspending ??= Object.assign(
  function (/** @type {Function} */ call) { return call; },
  { missing: true },
);
assembly.promising ??= standIn;

import { Device } from "./girih.js";

// Asked first: where there is no WebGPU, what opens it in the module ends the module.
const open = Device.open;
Device.open = async (kind) => {
  const why = kind === "webgpu" ? await whyNoWebGpu() : undefined;
  if (why) throw new Error(`WebGPU cannot be opened: ${why}; there is the device cpu`);
  return open(kind);
};

export * from "./girih.js";
export { default } from "./girih.js";

/**
 * Why WebGPU cannot be used here, or `undefined` where it can.
 * @returns {Promise<string | undefined>}
 */
export async function whyNoWebGpu() {
  /** @type {any} */
  const gpu = /** @type {any} */ (globalThis.navigator)?.gpu;
  if (!gpu) {
    return globalThis.isSecureContext === false
      ? "browsers offer WebGPU to pages loaded over https or from this machine alone"
      : "this browser has no WebGPU, or it is switched off";
  }
  if (assembly.Suspending.missing) {
    return "this browser has WebGPU, but not the JavaScript Promise Integration that waits for it";
  }
  if (!(await gpu.requestAdapter())) {
    return "this browser has WebGPU, but found no GPU";
  }
  return undefined;
}

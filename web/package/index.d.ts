export * from "./girih.js";
export { default } from "./girih.js";

/** Why WebGPU cannot be used here, or `undefined` where it can. */
export function whyNoWebGpu(): Promise<string | undefined>;

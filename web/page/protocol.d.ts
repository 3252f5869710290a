/** Parameter sets of the three tasks. */
export interface Sets {
  bits: string;
  integers: string;
  vectors: string;
}

/** What the page asks of the worker. */
export type Task =
  | { name: "open"; device: "cpu" | "webgpu" }
  | { name: "bits"; sets: Sets; gate: string; a: number; b: number }
  | { name: "integers"; sets: Sets; width: number; a: number; b: number }
  | { name: "vectors"; sets: Sets; x: number[]; y: number[] };

/** Whose work a step is: the owner's of the data, or of whoever computes. */
export type Who = "you" | "server";

/** What the worker tells the page; `holds` says what the step leaves with whom. */
export type Told =
  | { kind: "opened"; name: string; software: boolean }
  | { kind: "begin"; who: Who; what: string; holds: string }
  | { kind: "progress"; what: string; done: number; total: number }
  | { kind: "end"; what: string; ms: number; bytes?: number }
  | { kind: "done"; lines: string[]; right: boolean; bytes: Uint8Array }
  | { kind: "failed"; why: string; trapped: boolean };

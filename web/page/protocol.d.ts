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

/** What the worker tells the page. */
export type Told =
  | { kind: "opened"; name: string; software: boolean }
  | { kind: "begin"; what: string }
  | { kind: "progress"; what: string; done: number; total: number }
  | { kind: "end"; what: string; ms: number; bytes?: number }
  | { kind: "done"; lines: string[]; right: boolean; bytes: Uint8Array }
  | { kind: "failed"; why: string; trapped: boolean };

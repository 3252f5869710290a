// Serves the page from where `cargo xtask web` lays it out.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";

const root = new URL("../target/web/page/", import.meta.url);
const types = {
  ".html": "text/html", ".js": "text/javascript", ".css": "text/css",
  ".svg": "image/svg+xml", ".wasm": "application/wasm",
};

/** Answers requests for files of the page, and no others. */
export const files = () => createServer(async (request, response) => {
  const path = new URL(request.url, "http://page").pathname.slice(1) || "index.html";
  try {
    const file = new URL(path, root);
    if (!file.href.startsWith(root.href)) throw new Error("no file of the page");
    const body = await readFile(file);
    const type = types[extname(path)] ?? "text/plain; charset=utf-8";
    response.writeHead(200, { "content-type": type }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});

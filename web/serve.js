// `cargo xtask web --serve PORT`.

import { files } from "./files.js";

const server = files().listen(Number(process.argv[2]), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/, until this is ended`);
});

// The package as a program finds it, in Node: on the CPU, since Node has no WebGPU.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const folder = new URL("../../target/web/package/", import.meta.url);
const girih = await import(new URL("index.js", folder).href);
await girih.default({ module_or_path: await readFile(new URL("girih_bg.wasm", folder)) });
const device = await girih.Device.open("cpu");

test("gates give what they give in the plain", async () => {
  const client = girih.ClientKey.generate("INSECURE_TOY");
  const heard = [];
  girih.onProgress((...told) => heard.push(told));
  const keys = client.evaluationKeys();
  girih.onProgress(undefined);
  const [, done, total] = heard.at(-1);
  assert.ok(done === total && total > 0, `the last of ${heard.length} reports says ${done}`);
  const copy = girih.EvaluationKeys.fromBytes(keys.toBytes());
  const server = await girih.ServerKey.load(device, copy);
  const [a, b] = [[0, 0, 1, 1], [0, 1, 0, 1]].map((bits) => client.encryptBits(bits));
  const want = { and: [0, 0, 0, 1], nand: [1, 1, 1, 0], or: [0, 1, 1, 1], nor: [1, 0, 0, 0],
    xor: [0, 1, 1, 0], xnor: [1, 0, 0, 1] };
  for (const [gate, bits] of Object.entries(want)) {
    assert.deepEqual([...client.decryptBits(await server.gate(gate, a, b))], bits, gate);
  }
  const again = girih.ClientKey.fromBytes(client.toBytes());
  assert.deepEqual([...again.decryptBits(a)], [0, 0, 1, 1]);
  await assert.rejects(server.gate("maybe", a, b), /no gate `maybe`: there are and, nand/);
  const short = client.encryptBits([1]);
  await assert.rejects(server.gate("and", a, short), /4|1/);
  const other = girih.ClientKey.generate("INSECURE_TOY").encryptBits([0, 0, 1, 1]);
  await assert.rejects(server.gate("and", a, other), /client key/);
  await assert.rejects(server.gate("and", a, a.slice(0, -1)));
});

test("integers of three widths wrap around as they do in the plain", async () => {
  const client = girih.ClientKey.generate("INSECURE_INTEGERS");
  const integers = await girih.Integers.load(device, client.evaluationKeys());
  for (const bits of [8, 16, 32]) {
    const [x, y] = [2 ** bits - 3, 7];
    const [a, b] = [x, y].map((value) => client.encryptIntegers(bits, [value]));
    const want = { add: 4, subtract: x - y, multiply: 2 ** bits - 21, min: y, max: x };
    for (const [operation, value] of Object.entries(want)) {
      const result = await integers.compute(operation, bits, a, b);
      assert.deepEqual([...client.decryptIntegers(bits, result)], [value], `${operation} ${bits}`);
    }
  }
  assert.ok(integers.lookUps > 0);
  for (const wrong of [256, -1, 0.5, NaN, Infinity]) {
    assert.throws(() => client.encryptIntegers(8, [wrong]), /is no integer of 8 bits/, `${wrong}`);
  }
  assert.throws(() => client.encryptIntegers(9, [1]), /there are 8, 16 and 32/);
  const a = client.encryptIntegers(8, [1]);
  await assert.rejects(integers.compute("divide", 8, a, a), /no operation `divide`/);
  await assert.rejects(integers.compute("add", 16, a, a));
});

test("a dot product is as exact as its set says", async () => {
  const client = girih.CkksClientKey.generate("INSECURE_CKKS_D40_N10");
  const keys = client.dotKeys(100, 1);
  const server = await girih.CkksServerKey.load(device, keys);
  const x = Array.from({ length: 100 }, (_, i) => Math.sin(i));
  const y = x.map((value) => 1 - value);
  const [a, b] = [x, y].map((values) => client.encrypt(values, 1, 2));
  const want = x.reduce((sum, value, i) => sum + value * y[i], 0);
  const got = client.decrypt(await server.dot(a, b));
  assert.ok(got.every((value) => Math.abs(value - want) < 1e-6), `${got[0]} is not ${want}`);
  const sum = client.decrypt(await server.add(a, b));
  assert.ok(sum.slice(0, 100).every((value) => Math.abs(value - 1) < 1e-6));
  const product = client.decrypt(await server.multiply(a, b));
  assert.ok(x.every((value, i) => Math.abs(product[i] - value * y[i]) < 1e-6));
  assert.throws(() => client.dotKeys(0, 1), /1 to 512 fit/);
  assert.throws(() => client.encrypt([NaN], 1));
  assert.throws(() => client.encrypt([1.5], 1), /declared magnitude 1:/);
  const spent = client.encrypt([1], 0);
  await assert.rejects(server.multiply(spent, spent), /level/);
});

test("what is not to be had is refused with a reason", async () => {
  assert.throws(() => girih.ClientKey.generate("STD127"), /STD128/);
  await assert.rejects(girih.Device.open("webgpu"), /no WebGPU.*device cpu/);
  await assert.rejects(girih.Device.open("tpu"), /there are cpu and webgpu/);
  assert.match(await girih.whyNoWebGpu(), /no WebGPU/);
});

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Plugin } from "vite";

const TEXT = /\.(?:js|css|html|svg)$/;

/** Puts a compressed copy beside every text file of the built page, so that serving it costs nothing. */
export function precompressed(): Plugin {
  let folder = "";
  return {
    name: "precompressed",
    apply: "build",
    configResolved({ root, build }) {
      folder = resolve(root, build.outDir);
    },
    // Not when it closes: that comes after a build that failed, too, and would hide why.
    async writeBundle() {
      const names = await readdir(folder, { recursive: true });
      await Promise.all(names.filter((name) => TEXT.test(name)).map((name) => compress(join(folder, name))));
    },
  };
}

async function compress(path: string): Promise<void> {
  const bytes = await readFile(path);
  const quality = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(bytes, { params: quality }),
    promisify(gzip)(bytes, { level: 9 }),
  ]);
  await Promise.all([writeFile(`${path}.br`, br), writeFile(`${path}.gz`, gz)]);
}

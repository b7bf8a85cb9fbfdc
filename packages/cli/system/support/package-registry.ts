import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { TOY } from "./added-agents.ts";
import { folder } from "./reins.ts";

const NAME = "toy-agent";

/** Packs the toy agent as npm would for its registry. */
function pack(version: string): Buffer {
  const source = join(folder, `package-${version}`);
  mkdirSync(source, { recursive: true });
  copyFileSync(TOY, join(source, "agent.mjs"));
  writeFileSync(join(source, "package.json"), JSON.stringify({ name: NAME, version }));
  const output = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], {
    cwd: source,
    encoding: "utf8",
  });
  return readFileSync(join(folder, output.trim()));
}

/** A package index on loopback from which the toy agent can be installed. */
export async function packageRegistry(...versions: readonly string[]) {
  const tarballs = new Map(versions.map((version) => [`/${NAME}/-/${NAME}-${version}.tgz`, pack(version)]));
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    requests.push(path);
    const tarball = tarballs.get(path);
    if (tarball) response.end(tarball);
    else if (path === `/${NAME}`) response.end(JSON.stringify(described()));
    else response.writeHead(404).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const described = () => ({
    name: NAME,
    "dist-tags": { latest: versions.at(-1) },
    versions: Object.fromEntries(
      [...tarballs].map(([path, tarball], index) => {
        const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
        const version = versions[index];
        return [version, { name: NAME, version, dist: { tarball: `${url}${path}`, integrity } }];
      }),
    ),
  });
  const close = async () => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };
  onTestFinished(close);
  return { requests, close, environment: { npm_config_registry: url } };
}

/** The toy agent as one that has to be installed. */
export const packaged = {
  id: "packaged",
  install: {
    packages: { [NAME]: "1.0.0" },
    agentProcess: NAME,
    platforms: [`${process.platform}-${process.arch}`],
    megabytes: 1,
  },
  start: { with: "node", file: `node_modules/${NAME}/agent.mjs` },
};

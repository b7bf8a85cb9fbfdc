import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { gzipSync } from "node:zlib";
import { tarOf } from "./archives.ts";

/** One version of a package: its package.json and its other files. */
export interface TestPackage {
  readonly manifest: Readonly<Record<string, unknown>> & { readonly name: string; readonly version: string };
  readonly files: Readonly<Record<string, string>>;
}

/** A package index on loopback that npm can install from. */
export class PackageRegistry implements AsyncDisposable {
  /** What was asked for, in order. */
  readonly requests: string[] = [];
  /** Awaited before a package is handed out. */
  gate: Promise<unknown> = Promise.resolve();
  readonly #server: Server;
  readonly #packages: readonly TestPackage[];

  private constructor(server: Server, packages: readonly TestPackage[]) {
    this.#server = server;
    this.#packages = packages;
  }

  static async listen(packages: readonly TestPackage[]): Promise<PackageRegistry> {
    const server = createServer();
    const registry = new PackageRegistry(server, packages);
    server.on("request", async (request, response) => {
      const path = decodeURIComponent(request.url ?? "");
      registry.requests.push(path);
      if (path.endsWith(".tgz")) await registry.gate;
      const body = registry.#answer(path);
      response.writeHead(body === undefined ? 404 : 200).end(body ?? "{}");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return registry;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #answer(path: string): string | Buffer | undefined {
    const [, name, version] = /^\/(.+?)(?:\/-\/.*-(\d.*)\.tgz)?$/.exec(path) ?? [];
    const versions = this.#packages.filter(({ manifest }) => manifest.name === name);
    if (versions.length === 0) return undefined;
    if (version !== undefined) {
      const found = versions.find(({ manifest }) => manifest.version === version);
      return found && tarballOf(found);
    }
    const described = versions.map((each): [string, object] => {
      const tarball = `${this.url}/${name}/-/${name}-${each.manifest.version}.tgz`;
      return [each.manifest.version, { ...each.manifest, dist: { tarball, integrity: integrityOf(each) } }];
    });
    const latest = versions.at(-1)?.manifest.version;
    return JSON.stringify({ name, "dist-tags": { latest }, versions: Object.fromEntries(described) });
  }
}

/** What npm checks a package against. */
export function integrityOf(given: TestPackage): string {
  return `sha512-${createHash("sha512").update(tarballOf(given)).digest("base64")}`;
}

function tarballOf({ manifest, files }: TestPackage): Buffer {
  const all = { "package.json": JSON.stringify(manifest), ...files };
  return gzipSync(tarOf(Object.entries(all).map(([name, text]) => ({ name: `package/${name}`, text }))));
}

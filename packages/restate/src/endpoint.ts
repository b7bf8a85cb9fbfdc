import { once } from "node:events";
import { createServer, type Http2Server, type Http2Session } from "node:http2";
import { isLoopback } from "@reins/kit";
import { createEndpointHandler, type EndpointOptions } from "@restatedev/restate-sdk";
import { RestateError } from "./restate-api.ts";

/** Where Restate calls this process. */
export interface EndpointAddress {
  readonly host: string;
  readonly port: number;
  /** The public keys of the Restate servers that may call; with them every other caller is refused. */
  readonly identityKeys: readonly string[];
}

/** Serves the objects of Restate over HTTP/2. Who may call it can have runs continued, so it needs a signature off loopback. */
export class Endpoint {
  readonly #server: Http2Server;
  readonly #sessions = new Set<Http2Session>();

  private constructor(server: Http2Server) {
    this.#server = server;
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
      session.on("error", () => session.destroy());
    });
  }

  static async open(
    { host, port, identityKeys }: EndpointAddress,
    { services, logger }: Required<Pick<EndpointOptions, "services" | "logger">>,
  ): Promise<Endpoint> {
    if (identityKeys.length === 0 && !isLoopback(host))
      throw new RestateError(
        "refused",
        `Restate may call ${host} only with identity keys: any caller that reaches it could have runs continued`,
      );
    const keys = identityKeys.length > 0 ? { identityKeys: [...identityKeys] } : {};
    const server = createServer(createEndpointHandler({ services, logger, ...keys }));
    const endpoint = new Endpoint(server);
    server.listen(port, host);
    try {
      await once(server, "listening");
    } catch (error) {
      throw new RestateError("refused", `${host}:${port}, where Restate is to call, cannot be listened on`, {
        cause: error,
      });
    }
    return endpoint;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address ? address.port : 0;
  }

  /** Cuts every connection. */
  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const session of this.#sessions) session.destroy();
    await closed;
  }
}

import { type AhpServer, type HttpMount, mountHttp } from "@reins/ahp";
import { codeOfStatus, PROBLEM_TYPE, problem } from "@reins/api";
import type { Dialect, Place } from "../dialect/dialect.ts";

const PATH = "/ahp";

/** AHP over HTTP and WebSocket. Its peers are the principals whose tokens they showed. */
export class AhpDialect implements Dialect {
  readonly name = "ahp";
  readonly #mount: HttpMount;

  constructor(server: AhpServer) {
    this.#mount = mountHttp(server, {
      refusal: (status, detail) => ({
        type: PROBLEM_TYPE,
        body: JSON.stringify(problem(codeOfStatus(status), detail || "AHP messages are sent with POST")),
      }),
    });
  }

  mount(place: Place): void {
    place.raw(PATH, (request, response, { id }) => this.#mount.handle(request, response, { principal: id }));
    place.upgrade(PATH, (request, socket, head, { id }) =>
      this.#mount.upgrade(request, socket, head, { principal: id }),
    );
  }

  close(): Promise<void> {
    return this.#mount.close();
  }
}

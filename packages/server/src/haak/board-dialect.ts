import { boardOperations } from "@reins/api";
import type { Board } from "@reins/host";
import type { Harness, Principal } from "@reins/supervisor";
import type { Dialect } from "../dialect/dialect.ts";
import { shared } from "./shared.ts";

/** The board, on which everybody leaves word. */
export const boardDialect: Dialect = {
  name: "board",
  mount(place) {
    place.governed(boardOperations.showBoard, ({ harness, principal, query }) =>
      shared(async () => ({ lines: await (await boardOf(harness, principal)).read(query.lines) })),
    );
    place.governed(boardOperations.postBoard, ({ harness, principal, supervisor, body }) =>
      shared(async () => {
        await (await boardOf(harness, principal)).post(supervisor.actorOf(principal), body.content);
        return undefined;
      }),
    );
  },
};

async function boardOf({ home }: Harness, { tenant }: Principal): Promise<Board> {
  const { Board: Made } = await import("@reins/host");
  return new Made({ home, tenant });
}

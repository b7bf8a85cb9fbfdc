import type { Session } from "@reins/api";
import { visible } from "../../design/visible.ts";

/** What a session is called: by its title, or by the beginning of its id. */
export function titleOf({ title, id }: Pick<Session, "title" | "id">): string {
  return title === undefined ? `Session ${id.slice(0, 8)}` : visible(title);
}

import type { Action, Effect } from "../src/action.ts";

/**
 * What an action does in one line, for tables of expectations: each effect but plain programs, then how sure that is.
 * Names a path in the workspace from its root, any other by its place and end.
 */
export function brief({ effects, opaque, doubts }: Action): string {
  const told = effects.flatMap(briefEffect);
  const sure = opaque ? ["opaque"] : doubts.length > 0 ? ["doubt"] : [];
  return [...told, ...sure].join(", ") || "nothing";
}

function briefEffect(effect: Effect): readonly string[] {
  if (effect.kind === "exec") return [];
  if (effect.kind === "net") return [`${effect.looks ? "look" : "net"} ${effect.host}`];
  const { place, inside, path, deep } = effect;
  const where = place === "workspace" ? inside || "." : `${place}:${inside ?? path.split("/").at(-1)}`;
  const verb = effect.kind === "read" ? "read" : effect.destroys ? "destroy" : "write";
  return [`${verb} ${where}${deep ? "/**" : ""}`];
}

import type { IncomingMessage } from "node:http";
import { Refusal } from "../problems/refusal.ts";

/** Whether whoever asks takes answers of a type. Who says nothing takes any. */
export function accepts({ headers }: Pick<IncomingMessage, "headers">, type: string): boolean {
  const { accept } = headers;
  if (accept === undefined || accept.trim() === "") return true;
  const [family = ""] = type.split("/");
  const fitting = [type, `${family}/*`, "*/*"];
  return accept.split(",").some((range) => {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return fitting.includes(name) && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Refuses who does not take answers of a type. */
export function expectAccepted(request: Pick<IncomingMessage, "headers">, type: string): void {
  if (!accepts(request, type)) throw new Refusal("not_acceptable", `answers come as ${type}`);
}

import { z } from "zod";
import { BRIDGE_MESSAGES } from "./messages.ts";

/** Where the published schemas are. */
export const BRIDGE_SCHEMA_FOLDER = new URL("../schema/", import.meta.url);

/** The published schemas, by file name. */
export function bridgeSchemaFiles(): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(BRIDGE_MESSAGES).map(([name, message]) => {
      const schema = { title: name, ...z.toJSONSchema(message, { io: "input" }) };
      return [`${name}.json`, `${JSON.stringify(schema, undefined, 2)}\n`];
    }),
  );
}

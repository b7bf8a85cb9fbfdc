import { z } from "zod";
import {
  ActionDeclaration,
  CARRIER_TOOL,
  DECLARED_PAYLOADS,
  DeclarationEnvelope,
  FailurePolicy,
  Id,
  INTENTS,
  ProtocolOutput,
  ResultPolicy,
} from "../src/declaration/grammar.ts";

/** The parts that stand once in a schema, under their names. */
const names = z.registry<{ id: string }>();
for (const [id, schema] of Object.entries({ ActionDeclaration, FailurePolicy, Id, ResultPolicy }))
  names.add(schema, { id });
for (const [name, schema] of Object.entries(DeclarationEnvelope.shape))
  if (name !== "intent" && name !== "payload" && !names.has(schema))
    names.add(schema, { id: `envelope.${name}` });

/** The published schemas: what a model may declare, by the name of the file. */
const SCHEMAS = {
  "agent-protocol-output.json": {
    title: CARRIER_TOOL,
    description: "The small form of a declaration: the arguments of the native call.",
    schema: ProtocolOutput,
  },
  "agent-protocol.json": {
    title: "Agent Protocol declaration",
    description: "The full form of a declaration: the JSON of a fenced block `json agent-protocol`.",
    schema: z.union(
      INTENTS.map((intent) =>
        DeclarationEnvelope.extend({
          intent: z.literal(intent),
          payload: z.union(Object.values<z.ZodType>(DECLARED_PAYLOADS[intent])),
        }),
      ),
    ),
  },
} as const;

/** Where the schemas lie as this package brings them along. */
export const GRAPH_SCHEMA_FOLDER: URL = new URL("../schema/", import.meta.url);

/** The texts of the schema files, of draft 2020-12, by name. */
export function graphSchemaFiles(): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(SCHEMAS).map(([name, { title, description, schema }]) => {
      const { $schema, ...rest } = z.toJSONSchema(schema, { io: "input", metadata: names });
      return [name, `${JSON.stringify({ $schema, $id: name, title, description, ...rest }, undefined, 2)}\n`];
    }),
  );
}

import type { z } from "zod";
import * as context from "./context.ts";
import * as contracts from "./contracts.ts";
import * as decisions from "./decisions.ts";
import * as envelope from "./envelope.ts";
import { AhpEvent } from "./event.ts";
import { EventType } from "./event-type.ts";
import * as methods from "./methods.ts";
import * as payloads from "./payloads.ts";
import * as perception from "./perception.ts";
import { AuthConfig, AuthMethod, TransportConfig } from "./transport-config.ts";

const { PROTOCOL_VERSION: _, ...methodTypes } = methods;

/** Every type of the protocol by its name: what the published JSON Schemas and the vectors are about. */
export const TYPES: Readonly<Record<string, z.ZodType>> = {
  ...envelope,
  ...methodTypes,
  EventType,
  AhpEvent,
  ...context,
  ...payloads,
  ...perception,
  ...contracts,
  ...decisions,
  AuthConfig,
  AuthMethod,
  TransportConfig,
};

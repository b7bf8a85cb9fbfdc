import type { Section } from "../check.ts";
import { authentication } from "./authentication.ts";
import { batch } from "./batch.ts";
import { contracts } from "./contracts.ts";
import { decisions } from "./decisions.ts";
import { depth } from "./depth.ts";
import { errorTexts } from "./error-texts.ts";
import { events } from "./events.ts";
import { handshake } from "./handshake.ts";
import { http } from "./http.ts";
import { jsonRpc } from "./json-rpc.ts";
import { lines } from "./lines.ts";
import { messageModel } from "./message-model.ts";
import { params } from "./params.ts";
import { payloads } from "./payloads.ts";
import { query } from "./query.ts";
import { replies } from "./replies.ts";
import { robustness } from "./robustness.ts";
import { websocket } from "./websocket.ts";

/** Every section, in the order in which they are reported. */
export const SECTIONS: readonly Section[] = [
  messageModel,
  replies,
  jsonRpc,
  handshake,
  events,
  decisions,
  payloads,
  contracts,
  params,
  depth,
  batch,
  query,
  errorTexts,
  robustness,
  lines,
  http,
  websocket,
  authentication,
];

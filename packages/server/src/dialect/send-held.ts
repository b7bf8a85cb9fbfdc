import { Buffer } from "node:buffer";
import type { OutgoingHttpHeader } from "node:http";
import type { FastifyReply } from "fastify";
import { PROTECTION } from "../gateway/protection.ts";
import type { HeldAnswer } from "./call.ts";

const JSON_TEXT = "application/json; charset=utf-8";

/**
 * Sends an answer, its whole head in one go: to set header after header and have the framework look at them again costs
 * more than the answer. What was set before counts more than protection.
 */
export function sendHeld(reply: FastifyReply, { status, text = "" }: HeldAnswer): FastifyReply {
  const head: Record<string, OutgoingHttpHeader | undefined> = { ...PROTECTION, ...reply.getHeaders() };
  if (text !== "") head["content-type"] = JSON_TEXT;
  if (status !== 204) head["content-length"] = Buffer.byteLength(text);
  // The framework sees to the pace at which a long answer goes over HTTP/2.
  if (reply.request.raw.httpVersionMajor > 1)
    return reply
      .code(status)
      .headers(head)
      .send(text || undefined);
  reply.hijack();
  reply.raw.writeHead(status, head);
  reply.raw.end(text);
  return reply;
}

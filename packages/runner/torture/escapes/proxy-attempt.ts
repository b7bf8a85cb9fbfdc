import { once } from "node:events";
import { connect } from "node:net";
import { targets } from "./tools.ts";

const NAMES = [
  ...["127.0.0.1", "localhost", "LOCALHOST.", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "[::1]"],
  ...["[::ffff:127.0.0.1]", "allowed.test@127.0.0.1", "allowed.test#@127.0.0.1", "127.0.0.1%00.allowed.test"],
];
const ANSWER_MS = 1_000;

/** Every way to say "that port of this machine" to a proxy. */
export async function talkProxyIntoIt(): Promise<string | undefined> {
  const proxy = new URL(process.env.HTTP_PROXY ?? "");
  for (const name of NAMES) {
    const there = `${name}:${targets.port}`;
    const requests = [
      `CONNECT ${there} HTTP/1.1\r\nHost: allowed.test\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET http://${there}/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: ${there}\r\n\r\n`,
      `GET http://allowed.test/ HTTP/1.1\r\nHost: ${there}\r\n\r\n`,
    ];
    for (const request of requests) {
      const answer = await answerTo(request, proxy);
      if (answer.includes(targets.canary)) return `${request.split("\r\n", 1)} was answered`;
    }
  }
  return undefined;
}

async function answerTo(request: string, { hostname, port }: URL): Promise<string> {
  const socket = connect(Number(port), hostname);
  socket.setTimeout(ANSWER_MS, () => socket.destroy());
  socket.write(request);
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  await once(socket, "close").catch(() => undefined);
  return answer;
}

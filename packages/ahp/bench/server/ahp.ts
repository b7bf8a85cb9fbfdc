import { AhpServer, serveHttp, serveStdio, serveUnix } from "../../src/index.ts";
import { report } from "./lifeline.ts";

const [transport, path = ""] = process.argv.slice(2);
const server = new AhpServer({ event: () => ({ decision: "allow" }) });

switch (transport) {
  case "stdio":
    serveStdio(server);
    report("stdio");
    break;
  case "unix":
    report((await serveUnix(server, { path })).address);
    break;
  default:
    report((await serveHttp(server)).address);
}

// Sends messages and posts to the board, so many of each.
import { Board } from "../../src/mail/board.ts";
import { Outbox } from "../../src/mail/mailbox.ts";

const [home = "", name = "", count = "0"] = process.argv.slice(2);
const outbox = new Outbox({ home, tenant: "default" });
const board = new Board({ home, tenant: "default" });
for (let number = 0; number < Number(count); number += 1) {
  const padding = "x".repeat((number * 37) % 5_000);
  await outbox.send({ from: name, to: "coder", subject: `${number}`, body: `${name}/${number} ${padding}` });
  await board.post(name, `${number} done`);
}

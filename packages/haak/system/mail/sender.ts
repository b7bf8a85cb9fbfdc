// Sends a number of messages and posts.
import { Board } from "../../src/mail/board.ts";
import { Mailbox } from "../../src/mail/mailbox.ts";
import { noStore } from "../../test/mail-home.ts";

const [home = "", name = "", count = "0"] = process.argv.slice(2);
const mailbox = new Mailbox({ home, tenant: "default", store: noStore });
const board = new Board({ home, tenant: "default" });
for (let number = 0; number < Number(count); number += 1) {
  const padding = "x".repeat((number * 37) % 5_000);
  await mailbox.send({ from: name, to: "coder", subject: `${number}`, body: `${name}/${number} ${padding}` });
  await board.post(name, `${number} done`);
}

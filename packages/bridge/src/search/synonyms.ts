import type { Expansion } from "./bm25.ts";
import { stem } from "./stem.ts";

/** How much a synonym counts beside the word itself. */
const SHARE = 0.6;

/**
 * Words that people and descriptions of tools use for the same thing, one group a line. A word may be in several
 * groups; synonyms of synonyms do not count.
 */
const GROUPS = `
create add make new open register insert
delete remove erase destroy drop purge discard trash
update edit modify change alter set adjust patch revise
get fetch retrieve read show view display lookup describe see
list enumerate browse index overview
search find query lookup locate
send post deliver dispatch submit
start launch begin boot run trigger kick
stop halt end terminate shut shutdown kill
restart reboot relaunch
cancel abort revoke withdraw
run execute invoke perform
copy duplicate clone replicate
move transfer relocate migrate
rename retitle
upload push attach
download export save pull
import ingest load
share grant invite
permission access role right privilege
allow permit grant authorize enable
block deny forbid ban disable
enable activate
disable deactivate suspend pause
archive close
restore recover undelete revert rollback
schedule plan book reserve
book reservation appointment
meeting event appointment call calendar
calendar agenda schedule
email mail message inbox
message chat dm text
sms text
comment reply note remark respond answer
notify alert notification ping
alert alarm incident warning
incident outage pager
oncall rota shift
monitor watch observe track
metric measurement statistic stats kpi
log trace
error exception crash failure bug
bug issue defect ticket
issue ticket case task
task todo action
project board
board kanban
repository repo codebase
pull merge pr mr
pr pull
mr merge
branch ref
commit changeset revision
diff change patch difference
pipeline workflow build ci
build compile
job run
deploy release ship rollout publish
deployment release rollout
version tag release
rollback revert undo
test check
environment stage
secret credential password key token
variable env setting
config configuration setting preference option
user member person account people
member participant attendee
attendee guest invitee participant
customer client account buyer
lead prospect
deal opportunity
contact person
company organization business firm
employee staff worker coworker colleague
team group squad
manager boss supervisor
hire recruit onboard
candidate applicant
vacation leave pto holiday absence timeoff
salary pay payroll compensation wage
invoice bill
pay charge payment bill
refund reimburse reversal chargeback
subscription plan membership
price cost pricing rate quote
cost spend expense
expense spending receipt
discount coupon promo voucher
order purchase
buy purchase
product item sku
stock inventory
shipment shipping delivery parcel package
track trace
return rma
tax vat
currency money
exchange convert
balance fund
bank account
file document
folder directory
document doc page
page wiki article
spreadsheet sheet workbook excel
row record entry
table dataset
column field
cell range
database db
sql query
schema structure
backup snapshot dump
server machine instance vm host
vm virtual
container pod
cluster kubernetes k8s
scale resize
disk volume storage
bucket storage
object file blob
image picture photo
photo picture
video clip movie film
audio sound recording speech
song track music
playlist queue
transcribe transcript transcription
translate translation
summarize summary digest
classify categorize label
label tag
sentiment mood opinion
embedding vector
model llm
train fit
predict inference forecast
forecast prediction outlook
weather temperature
map route direction
route direction navigate
address location place
location position gps where
nearby near close
distance far
geocode coordinates latitude
restaurant place
flight plane airline
hotel accommodation lodging room
trip travel journey itinerary
light lamp bulb
thermostat temperature heating
door lock
device gadget
camera webcam
dns domain
domain hostname
certificate tls ssl cert
ip address
firewall security
url link
website site web
webhook callback
form survey questionnaire
answer response
campaign newsletter
audience segment
subscriber recipient
channel room
slack chat
thread conversation
conversation chat
emoji reaction
react reaction emoji
pin bookmark
bookmark favorite star
favorite like star
follow subscribe
mute silence snooze
silence mute snooze suppress
unread new
assign owner delegate
assignee owner responsible
due deadline
priority urgency severity
status state progress
history log audit
audit log trail
report dashboard chart
chart graph plot
dashboard board
analytics statistics stats
visitor traffic pageview
usage consumption
quota limit
sprint iteration cycle
milestone goal
goal objective okr
epic initiative
feature flag toggle
toggle switch flip
estimate point
signature sign esign
contract agreement
approve accept confirm
reject decline deny refuse
review feedback
rating review star
count number total many
list all
latest recent last newest
first oldest
duplicate copy
merge combine join unify
split divide
compare diff
verify validate check
login signin authenticate session
logout signout
password credential passphrase
mfa 2fa otp twofactor
encrypt cipher
scan inspect
vulnerability cve weakness
malware virus threat
phone call telephone number
call dial ring
voicemail recording
fax print
printer print
pdf document
convert transform
compress zip archive
extract parse
ocr text
crop resize
screenshot capture snapshot
crawl scrape
scrape extract
browser page
click press tap
type enter input fill
wait delay sleep
cron schedule recurring
queue backlog
publish post release
draft unpublished
blog post article
tweet post
news headline article
stock share ticker quote
crypto coin bitcoin
wallet balance
patient client
lab test
prescription medication drug
recipe dish meal
workout exercise training
course class lesson
student pupil learner
grade mark score
`;

const SYNONYMS: ReadonlyMap<string, readonly Expansion[]> = read(GROUPS);

function read(groups: string): ReadonlyMap<string, readonly Expansion[]> {
  const sets = new Map<string, Set<string>>();
  for (const line of groups.trim().split("\n")) {
    const words = line.split(" ").map(stem);
    for (const word of words) {
      const known = sets.get(word) ?? new Set<string>();
      for (const other of words) if (other !== word) known.add(other);
      sets.set(word, known);
    }
  }
  return new Map(
    [...sets].map(([word, others]) => [word, [...others].map((one) => ({ word: one, share: SHARE }))]),
  );
}

/** The words that count for a word of a query, both stemmed. */
export function synonymsOf(word: string): readonly Expansion[] {
  return SYNONYMS.get(word) ?? [];
}

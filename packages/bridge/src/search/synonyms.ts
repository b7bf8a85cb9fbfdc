import type { Expansion } from "./bm25.ts";
import { stem } from "./stem.ts";

/** How much a synonym counts beside the word itself. */
const SHARE = 0.7;

/**
 * Words that people and descriptions of tools use for the same thing, groups are separated by commas. A word may be in several
 * groups; synonyms of synonyms do not count.
 */
const GROUPS = `
  create add make new open insert, delete remove erase destroy drop purge discard trash, update edit modify change
  alter set adjust patch revise, get fetch retrieve read show view display lookup describe see, list enumerate browse
  index overview, search find query lookup locate, send post deliver dispatch submit, start launch begin boot run
  trigger kick, stop halt end terminate shut shutdown kill, restart reboot relaunch, cancel abort revoke withdraw, run
  execute invoke perform, copy duplicate clone replicate, move transfer relocate migrate, rename retitle, upload push
  attach put store, download export save pull, import ingest load, share grant invite, permission access role right
  privilege, allow permit grant authorize enable, block deny forbid ban disable, enable activate, disable deactivate
  suspend pause, archive close, restore recover undelete revert rollback, schedule plan book reserve, book reservation
  appointment, meeting event appointment call calendar, calendar agenda schedule, email mail message inbox, message
  chat dm text, sms text, comment reply note remark respond answer, notify alert notification ping, alert alarm
  incident warning, incident outage pager, monitor watch observe track, metric measurement statistic stats kpi, log
  trace, error exception crash failure bug, bug issue defect ticket, issue ticket case task, task todo action, project
  board, repository repo codebase, pull merge pr mr, branch ref, commit changeset revision, diff change patch
  difference, pipeline workflow build ci, build compile, job run, deploy release ship rollout publish, deployment
  release rollout, version tag release, test check, environment stage, secret credential password key token, variable
  env setting, config configuration setting preference option, user member person account people, member participant
  attendee, attendee guest invitee participant, customer client account buyer, deal opportunity, contact person,
  company organization business firm, employee staff worker coworker colleague, team group squad, manager boss
  supervisor, hire recruit onboard, candidate applicant, vacation leave pto holiday absence timeoff, salary pay
  payroll compensation wage, invoice bill, pay charge payment bill, refund reimburse reversal chargeback, subscription
  plan membership, price cost pricing rate quote, cost spend expense, expense spending receipt, discount coupon promo
  voucher, order purchase, buy purchase, product item sku, stock inventory, shipment shipping delivery parcel package,
  return rma, tax vat, currency money, exchange convert, file document, document doc page, page wiki article,
  spreadsheet sheet workbook excel, row record entry, table dataset, cell range, database db, sql query, backup
  snapshot dump, server machine instance vm host, vm virtual, container pod, cluster kubernetes k8s, disk volume
  storage, bucket storage, object file blob, video clip movie film, audio sound recording speech, playlist queue,
  transcribe transcript transcription, translate translation, summarize summary digest, classify categorize label,
  sentiment mood opinion, embedding vector, model llm, train fit, predict inference forecast, forecast prediction
  outlook, weather temperature, map route direction, route direction navigate, address location place, location
  position gps where, nearby near close, distance far, geocode coordinates latitude, flight plane airline, hotel
  accommodation lodging room, trip travel journey itinerary, light lamp bulb, thermostat temperature heating, door
  lock, device gadget, dns domain, domain hostname, certificate tls ssl cert, ip address, firewall security, url link,
  website site web, webhook callback, form survey questionnaire, audience segment, subscriber recipient, channel room,
  thread conversation, react reaction emoji, pin bookmark, bookmark favorite star, favorite like star, follow
  subscribe, silence mute snooze suppress, assign owner delegate, assignee owner responsible, priority urgency
  severity, status state progress, history log audit, audit log trail, report dashboard chart, chart graph plot,
  dashboard board, analytics statistics stats, visitor traffic pageview, quota limit, sprint iteration cycle,
  milestone goal, goal objective okr, epic initiative, feature flag toggle, toggle switch flip, estimate point,
  signature sign esign, contract agreement, approve accept confirm, reject decline deny refuse, rating review star,
  latest recent last newest, merge combine join unify, compare diff, verify validate check, login signin authenticate
  session, password credential passphrase, mfa 2fa otp twofactor, encrypt cipher, scan inspect, vulnerability cve
  weakness, call dial ring, voicemail recording, convert transform, compress zip archive, extract parse, ocr text,
  screenshot capture snapshot, scrape extract, browser page, click press tap, type enter input fill, wait delay sleep,
  cron schedule recurring, queue backlog, publish post release, draft unpublished, blog post article, tweet post, news
  headline article, crypto coin bitcoin, wallet balance, prescription medication drug, recipe dish meal, rain snow sun
  storm wind umbrella weather forecast, tomorrow forecast due upcoming, today recent current, now current realtime
  active live, rightnow current realtime active, broke broken break fail failure crash bug, author creator owner write
  blame, write compose draft author, draft unsent save, big bigger large larger size resize scale increase, small
  smaller compress shrink decrease, increase raise scale grow, free available vacant open, vacation holiday away out
  absence off, office absence away, newsletter unsubscribe campaign, money fund balance cash amount payment, moneyback
  refund, profit profitable revenue earning loss margin, quarter period, site website page visitor, visitor user
  active, malicious malware phishing virus threat, turndown reject decline, kickoff start trigger launch, spinup
  launch create start, setup create configure install schedule, cleanup prune remove purge, takeover override, putoff
  postpone snooze reschedule, postpone reschedule snooze delay, say message talk, talk chat conversation message, hit
  affect occur, slow latency performance slowest, fast performance, fix resolve repair, close resolve complete finish,
  done complete finish resolve, tick check complete, hand assign submit, mine my own, wrong problem error, problem
  issue incident error, down outage unavailable, live production publish promote, production live prod, staging
  preview, traffic load request, memory ram, cpu processor, box machine server instance, pic picture photo image,
  subtitle caption transcript, lyric transcript, speak speech voice, listen play, watch view, song track, music track,
  taxi ride cab, car vehicle, home house, flat apartment, heat heating thermostat, warm temperature heating, cold
  temperature, hot temperature, dim brightness, bright brightness, sleep rest, weight body, medicine medication drug,
  blood lab, doctor practitioner physician, homework assignment, teacher instructor, share stock, dollar currency,
  euro currency, worth value price, expensive cost price, cheap price cheapest lowest rate, afford price, owe unpaid
  receivable overdue outstanding, unpaid overdue outstanding open, overdue late outstanding, late overdue delay, nudge
  remind reminder, signature envelope, hire employee candidate, fire terminate offboard, leave offboard absence, quit
  terminate offboard, raise salary compensation, promotion promote, cart checkout basket, abandoned left, carrier
  courier, spam junk, hack breach compromise, leak exposed leaked secret, infected malware compromised, isolate
  contain quarantine, unlock open, lockout locked unlock, signup register, workout exercise training, course class
  lesson, student pupil learner, grade mark score, again retry rerun repeat, rerun retry restart, redo repeat retry,
  output log console, stdout log output, print log output, approve lgtm greenlight signoff, signoff approve sign,
  switch checkout change, undo revert reset rollback restore, port ingress inbound firewall, firewall ingress rule
  inbound waf, serverless function lambda, temporary expire presigned short, expire expiry lifetime temporary, https
  tls ssl certificate, cache purge invalidate invalidation, bounce restart reboot, power reboot restart, replica
  instance copy, usage consumption top utilization, schema structure column field, xlsx excel spreadsheet, csv file,
  kanban board, story issue, reschedule move update postpone, invite invitation attendee guest, availability free busy
  available, unread inbox new, view stats, follower subscriber, conversion funnel, experiment variant test, feedback
  review survey rating, colleague employee user person teammate, coworker colleague person user employee, newcomer
  hire onboard new, payslip salary wage pay, reimbursement expense receipt, opening position job vacancy, ticker quote
  share, trade order buy sell, invest buy order, portfolio position holding, fly flight, airport flight, stay hotel
  room, eat restaurant food meal, dinner restaurant meal, lunch restaurant meal, hungry food restaurant, cook recipe,
  ingredient recipe, way direction route, drive direction route car, walk step direction, high altitude elevation
  height, around nearby near, curtain blind cover shade, garage cover door, clean vacuum, hoover vacuum, loud louder
  volume, quiet volume mute, battery charge, pulse heart, walk activity step, draw generate create chart, paint
  generate image, illustration image, dictate transcribe speech, aloud speech voice, german translate language, french
  translate language, spanish translate language, english translate language, japanese translate language, language
  translate locale, rewrite rephrase edit, reword rephrase, math calculate arithmetic expression, sum calculate total,
  compute calculate, mile unit distance, kilometer unit distance, inch unit, celsius temperature unit, fahrenheit
  temperature unit, paper article research scientific, research paper search, google search web, internet web search,
  online web, recognize ocr extract, scanned ocr, blackout redact, sensitive redact secret, hide redact mute snooze
  restrict, bus train departure transport, subway train departure transport, gpu hardware, rota oncall schedule shift,
  pager page oncall, ack acknowledge, acknowledge confirm accept, signout logout session, kickout remove kick ban,
  kick remove ban expel, ban block kick, factor mfa, registrant owner, belong owner, own owner, who user person,
  password credential secret login, teammate member colleague person, reach contact, competitor company, revenue sales
  income, income revenue earning, debt owe receivable, supplier vendor, ledger account, bookkeeping account, budget
  limit spend, forecast predict estimate, next upcoming following coming forecast, upcoming next scheduled future,
  past historical previous history earlier, previous earlier last past, yesterday past historical, history past log
  activity, recap summary, minutes summary transcript, decide summary action, decision summary, highlight summary,
  topic subject, title name, headline title, rename change update name, label tag category, category label type,
  folder directory library, picture attach, shorten trim compress, cut trim clip, crop trim resize, mp3 audio, mp4
  video, mov video, gif image video, jpg image, png image, logo image, icon image, design figma, mockup design,
  prototype design, color style, whiteboard board miro, sticky note, arrow connector, deck presentation slide,
  powerpoint presentation slide, word document, letter document, note document page, write create post append, jot
  note append add, append add insert, journal note, diary note, checklist todo task, reminder todo notification,
  subtask task child, blocked dependency wait, depend dependency upstream downstream lineage, stale old unused, unused
  stale orphan prune, leftover unused prune, dead unused, dedupe merge duplicate, refresh sync reload update, ingest
  load sync, stream tail live, tail log stream, watch tail, grep search, regex search pattern, crawl scrape spider,
  homepage website page, seo keyword search, keyword term, ad advertising campaign, advert ad campaign, advertise ad
  campaign, bounce undelivered, deliver delivery send, inform notify tell message send, broadcast announce
  announcement send, announce announcement post, exam test grade, quiz test form, marks grade, healthy health status,
  alive status health up, reachable up status uptime, uptime status availability, offline down unavailable, outage
  incident down, degraded status component, infection malware, attack ddos threat, hacker attack threat, suspicious
  malicious threat detection, reputation malicious report, exposed open public, public visibility share, private
  visibility restrict, restrict limit private permission, protect lock restrict, owner assignee author, salesperson
  owner, pipeline deal stage, prospect lead contact, win won close, lost lose, churn cancel retention, retention
  return churn, cohort retention segment, loyal retention, satisfaction rating csat score, happy satisfaction rating,
  complaint ticket dispute, complain ticket dispute, escalate raise, urgent priority high, important priority,
  deadline due date, week weekly, time hour duration, duration time length, timezone time, clock time, register enroll
  signup, register domain buy, bill cost spend invoice, month period, code source file, unsubscribe stop optout,
  perform report result, source code file, screen display, say tell message, ask question query, question ask answer,
  answer reply, collect gather get, compare difference versus, convert exchange change, quit stop cancel, pick choose
  select, drop remove lose, grab get take, look see view search, see show view get, check verify status get, status
  check state, bring get fetch, put add set place, throw remove kick, hold pause wait, freeze pause suspend lock,
  resume continue unpause, continue resume, join add invite, arrange schedule organize, organize plan schedule, ring
  call, reply respond answer, attach upload link, replace swap substitute, swap replace, fill complete enter, correct
  fix edit, stage step, limit cap restrict quota, cap limit quota concurrency, hang stuck block, stuck block hang, lag
  behind delay, behind lag late, blocking block lock, thread process, process thread, dayoff timeoff vacation leave,
  upgrade update change, phone call dial telephone, day date daily`;

const SYNONYMS: ReadonlyMap<string, readonly Expansion[]> = read(GROUPS);

function read(groups: string): ReadonlyMap<string, readonly Expansion[]> {
  const sets = new Map<string, Set<string>>();
  for (const group of groups.split(",")) {
    const words = group.trim().split(/\s+/).map(stem);
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

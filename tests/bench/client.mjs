// The rival: the plan as a client computes it. Reads all members, loops over them, deletes all bonuses and
// inserts them again in batches, as JSON, the way PostgREST would run it. Prints its times and sums as JSON.

import { randomUUID } from 'node:crypto'
import pg from 'pg'

const RATES = new Map([
  [50, 10],
  [100, 20],
  [250, 30],
  [500, 40],
  [1000, 50],
])
const REFERRAL = 5
const OVERRIDE = 1
const BATCH = 1000
const LOOPS = 3

const INSERT = `
  insert into rival.bonuses (id, user_id, source_user_id, bonus_type, amount, pair_number)
  select id, user_id, source_user_id, bonus_type, amount, pair_number
  from json_to_recordset($1) as r (
    id uuid, user_id uuid, source_user_id uuid, bonus_type text, amount numeric, pair_number integer
  )`

function bonusesOf(profiles) {
  const byId = new Map()
  const childrenOf = new Map()
  for (const profile of profiles) {
    byId.set(profile.id, profile)
    if (!profile.referrer_id) continue
    const siblings = childrenOf.get(profile.referrer_id)
    if (siblings) siblings.push(profile)
    else childrenOf.set(profile.referrer_id, [profile])
  }
  const bonuses = []
  const pay = (user, source, bonus_type, amount, pair_number) =>
    bonuses.push({ user_id: user.user_id, source_user_id: source.user_id, bonus_type, amount, pair_number })
  for (const profile of profiles) {
    const children = childrenOf.get(profile.id) ?? []
    for (const child of children) {
      if (child.package_value > 0)
        pay(profile, child, 'referral', (child.package_value * REFERRAL) / 100, null)
    }
    const rate = RATES.get(profile.package_value) ?? 0
    const referrer = byId.get(profile.referrer_id)
    for (let pair = 0; pair < Math.floor(children.length / 2); pair++) {
      const [left, right] = [children[2 * pair], children[2 * pair + 1]]
      if (!(left.package_value > 0 && right.package_value > 0)) continue
      const volume = left.package_value + right.package_value
      if (rate > 0) pay(profile, right, 'pairing', (volume * rate) / 100, pair + 1)
      if (referrer) pay(referrer, profile, 'override', (volume * OVERRIDE) / 100, pair + 1)
    }
  }
  return bonuses
}

async function timed(work) {
  const started = performance.now()
  const result = await work()
  return [result, performance.now() - started]
}

async function replaceAll(database, bonuses) {
  await database.query('delete from rival.bonuses')
  for (let start = 0; start < bonuses.length; start += BATCH) {
    const batch = bonuses.slice(start, start + BATCH).map((bonus) => ({ id: randomUUID(), ...bonus }))
    await database.query(INSERT, [JSON.stringify(batch)])
  }
}

const database = new pg.Client({ connectionString: process.env.RIVAL_DATABASE })
await database.connect()
const [{ rows }, reading] = await timed(() =>
  database.query(
    'select id, user_id, referrer_id, package_value::float8 as package_value from private.profiles order by created_at, id',
  ),
)
let bonuses
let looping = Infinity
for (let round = 0; round < LOOPS; round++) {
  const [found, took] = await timed(() => bonusesOf(rows))
  bonuses = found
  looping = Math.min(looping, took)
}
const [, writing] = process.argv.includes('--write')
  ? await timed(() => replaceAll(database, bonuses))
  : [undefined, 0]
await database.end()

const sums = {}
for (const { bonus_type, amount } of bonuses) {
  const sum = (sums[bonus_type] ??= [0, 0])
  sum[0] += 1
  sum[1] += Math.round(amount * 100)
}
console.log(JSON.stringify({ reading, looping, writing, sums }))

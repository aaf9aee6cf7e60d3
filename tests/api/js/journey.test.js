// A member's whole way with the stock JavaScript client: from the invitation to the payout.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { env, financeClient, letterTo, newMember, png, publicClient } from './stack.js'
import { walletOf } from './wallet.js'

const PASSWORD = 'correct-horse-77'

/** Request a deposit as a member's client does (specification S26.5), and return its id. */
async function deposit(member, amount) {
  const path = `${member.id}/${Date.now()}.png`
  const file = new Blob([png()], { type: 'image/png' })
  const uploaded = await member.client.storage.from('receipts').upload(path, file)
  assert.equal(uploaded.error, null)
  const receipt = member.client.storage.from('receipts').getPublicUrl(path).data.publicUrl
  const row = {
    id: crypto.randomUUID(),
    user_id: member.id,
    amount,
    reference_number: crypto.randomUUID(),
    receipt_url: receipt,
    status: 'pending',
  }
  const options = { onConflict: 'id', ignoreDuplicates: true }
  for (let sending = 0; sending < 2; sending += 1) {
    const { error } = await member.client.from('deposits').upsert(row, options)
    assert.equal(error, null)
  }
  return row
}

async function approved(finance, member, amount) {
  const { id } = await deposit(member, amount)
  const body = { depositId: id, action: 'approve' }
  const { data, error } = await finance.functions.invoke('admin-approve-deposit', { body })
  assert.equal(error, null)
  assert.equal(data.deposit.status, 'approved')
}

test('from the invitation to the payout', async () => {
  const sponsor = await newMember(env.DEMO_REFERRAL_CODE)
  const { client: finance } = await financeClient()
  const client = publicClient()
  const username = `j_${Date.now()}`
  const email = `${username}@example.com`

  const known = await client.rpc('get_sponsor', { p_referral_code: sponsor.profile.id })
  assert.equal(known.data[0].username, sponsor.username)
  const data = {
    display_name: 'June Novak',
    username,
    package_value: 0,
    referrer_id: sponsor.profile.id,
  }
  const signUp = await client.auth.signUp({
    email,
    password: PASSWORD,
    options: { data, emailRedirectTo: `${env.SUPABASE_URL}/dashboard` },
  })
  assert.equal(signUp.error, null)
  assert.equal(signUp.data.session, null)
  const letter = await letterTo(email)
  const link = new URL(letter.html.match(/href="([^"]*\/auth\/confirm[^"]*)"/)[1].replaceAll('&amp;', '&'))
  const { token_hash, type, redirect_to } = Object.fromEntries(link.searchParams)
  assert.equal(redirect_to, `${env.SUPABASE_URL}/dashboard`)
  const opened = await client.auth.verifyOtp({ token_hash, type })
  assert.equal(opened.error, null)
  assert.ok(opened.data.session)

  const signedIn = await client.auth.signInWithPassword({ email, password: PASSWORD })
  assert.equal(signedIn.error, null)
  const member = { client, id: signedIn.data.user.id }
  const own = () => client.from('profiles').select('*').eq('user_id', member.id).single()
  assert.equal((await own()).data.referrer_id, sponsor.profile.id)
  const wallet = walletOf(member.id)
  const saved = { trc20_wallet_address: wallet }
  assert.equal((await client.from('profiles').update(saved).eq('user_id', member.id)).error, null)

  const early = await client
    .from('withdrawals')
    .insert({ user_id: member.id, amount: 100, wallet_address: wallet, status: 'pending' })
  assert.equal(early.error.message, 'Insufficient balance. Available: $0.00')

  await approved(finance, member, 1000)
  const me = (await own()).data
  assert.equal(me.package_value, 1000)
  for (const child of [await newMember(me.id), await newMember(me.id)]) {
    await approved(finance, child, 1000)
  }
  const bonuses = await client.from('bonuses').select('bonus_type, amount').eq('user_id', member.id)
  const total = bonuses.data.reduce((sum, row) => sum + row.amount, 0)
  assert.equal(total, 1100)
  const sync = await client.functions.invoke('sync-all-mlm-bonuses')
  assert.equal(sync.data.success, true)

  const id = crypto.randomUUID()
  const asked = await client
    .from('withdrawals')
    .insert({ id, user_id: member.id, amount: 150, wallet_address: wallet, status: 'pending' })
  assert.equal(asked.error, null)
  const body = { withdrawalId: id, action: 'approve', payoutReference: `tx-${id}` }
  const paid = await finance.functions.invoke('admin-approve-withdrawal', { body })
  assert.equal(paid.data.withdrawal.status, 'approved')
  assert.equal((await own()).data.available_balance, 950)

  assert.equal((await client.auth.signOut()).error, null)
})

test('a refusal carries its sentence to the stock client', async () => {
  const { client: finance } = await financeClient()
  const body = { depositId: crypto.randomUUID(), action: 'approve' }
  const { error } = await finance.functions.invoke('admin-approve-deposit', { body })
  assert.equal(error.context.status, 404)
  const answer = await error.context.json()
  assert.equal(typeof answer.error, 'string')
  assert.equal(typeof answer.code, 'string')
})

test('a receipt opens for the administrator through the signed address', async () => {
  const member = await newMember(env.DEMO_REFERRAL_CODE)
  const { client: finance } = await financeClient()
  const row = await deposit(member, 50)
  const body = { receiptUrl: row.receipt_url }
  const { data, error } = await finance.functions.invoke('admin-get-receipt', { body })
  assert.equal(error, null)
  const picture = await fetch(data.signedUrl)
  assert.equal(picture.status, 200)
  assert.equal(picture.headers.get('content-type'), 'image/png')
  assert.notEqual((await fetch(row.receipt_url)).status, 200)
})

test('twenty requests of one member at once all succeed', async () => {
  const { client, id } = await newMember(env.DEMO_REFERRAL_CODE)
  const own = () => client.from('profiles').select('id').eq('user_id', id)
  const responses = await Promise.all(Array.from({ length: 20 }, own))
  const read = responses.map(({ status, data }) => `${status}, rows: ${data?.length}`)
  assert.deepEqual(read, Array(20).fill('200, rows: 1'))
})

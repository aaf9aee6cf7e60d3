import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@playwright/test'
import type * as Library from '../../api/js/node_modules/@supabase/supabase-js'
import { createMember } from '../people'
import { receiptPicture } from '../receipt'
import { need, origin } from '../stack'

const library = new URL(
  '../../api/js/node_modules/@supabase/supabase-js/dist/umd/supabase.js',
  import.meta.url,
)

test('the stock client works in a page of another origin, whatever headers it sends', async ({ page }) => {
  // A real server: page.route() would respond to preflights itself, and Chromium lets a page of the internet ask no
  // loopback address.
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  await page.addScriptTag({ content: readFileSync(library, 'utf8') })
  const given = {
    origin,
    key: need('SUPABASE_ANON_KEY'),
    member: await createMember('foreign'),
    picture: [...receiptPicture(32, 32)],
    others: Array.from({ length: 1299 }, () => randomUUID()),
  }
  const results = await page.evaluate(async ({ origin, key, member, picture, others }) => {
    const { createClient, FunctionRegion } = (globalThis as unknown as { supabase: typeof Library }).supabase
    const client = createClient(origin, key, { global: { headers: { 'x-of-the-client': '1' } } })
    const headers = { 'x-of-the-call': '1' }
    const { data } = await client.auth.signInWithPassword(member)
    const id = data.user?.id ?? ''
    const profiles = () => client.from('profiles').select('id', { count: 'exact' })
    const own = await profiles().eq('user_id', id).setHeader('x-of-the-call', '1')
    const listed = await profiles().in('user_id', [...others, id])
    const region = FunctionRegion.EuCentral1
    const synced = await client.functions.invoke('sync-all-mlm-bonuses', { region, headers })
    const file = new Blob([new Uint8Array(picture)], { type: 'image/png' })
    const stored = await client.storage.from('receipts').upload(`${id}/${Date.now()}.png`, file, { headers })
    return {
      own: own.error ?? own.count,
      listed: listed.error ?? listed.count,
      synced: synced.error?.message ?? synced.data.success,
      stored: stored.error?.message ?? 'stored',
    }
  }, given)
  server.close()
  expect(results).toEqual({ own: 1, listed: 1, synced: true, stored: 'stored' })
})

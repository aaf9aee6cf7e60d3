import { queryOptions, useQuery } from '@tanstack/react-query'
import builtIn from './built-in-platform.json'
import { readConfig } from './config'
import { add, type Decimal } from './money'
import { Refusal } from './errors'

export interface Package {
  value: Decimal
  label: string
  /** Pairing rate in percent, as the plan writes it ("30"). */
  rate: Decimal
}

export interface PublishedText {
  text: string
  version: string
  published_at: string
}

/** What anyone may know about this installation. Money and rates are decimal text. */
export interface Platform {
  product_name: string
  demo: boolean
  support: { name: string | null; email: string | null; url: string | null }
  operator: { name: string | null; address: string | null }
  packages: Package[]
  rates: { referral: Decimal; override: Decimal; reentry: Decimal }
  limits: { min_withdrawal: Decimal; min_deposit: Decimal; max_amount: Decimal; receipt_max_bytes: number }
  review_due_hours: number
  deposits_open: boolean
  /** The block explorer's page of a transaction, with {hash} in place of its hash; null without one. */
  explorer_url: string | null
}

interface PublishedTexts {
  terms: PublishedText | null
  risk: PublishedText | null
}

/** What the public pages are built with: the plan as the migrations make it, under the product's own name. */
export const builtInPlatform: Platform = builtIn

/** Fetched without the Supabase client: a public page needs this and nothing else of it. */
async function fetchPlatform(): Promise<Platform & PublishedTexts> {
  const { supabaseUrl, supabaseKey } = readConfig()
  const answer = await fetch(`${supabaseUrl}/rest/v1/rpc/get_platform`, {
    headers: { apikey: supabaseKey, authorization: `Bearer ${supabaseKey}` },
  })
  if (!answer.ok) throw new Refusal('The settings of this site did not load.', answer.status, 'platform')
  return (await answer.json()) as Platform & PublishedTexts
}

/** Known from /config.js when the page is opened, and asked for when it is no longer fresh. */
export const platformQuery = queryOptions({
  queryKey: ['platform'],
  queryFn: (): Promise<Platform> => fetchPlatform(),
  staleTime: 5 * 60_000,
})

/** The texts that the operator has published. */
export const publishedTextsQuery = queryOptions({
  queryKey: ['platform', 'texts'],
  queryFn: (): Promise<PublishedTexts> => fetchPlatform(),
  staleTime: 5 * 60_000,
})

/** The most that all bonuses of a package can take together, in percent. */
export function mostPaid({ packages, rates }: Pick<Platform, 'packages' | 'rates'>): Decimal {
  return add(packages.at(-1)?.rate ?? '0', rates.referral, rates.override).replace(/\.00$/, '')
}

export const depositsClosedText =
  'Deposits are closed at the moment. Send no USDT. If you already have, submit the request once they open again.'

export function usePlatform() {
  return useQuery(platformQuery)
}

export function useProductName(): string {
  return usePlatform().data?.product_name ?? builtInPlatform.product_name
}

import { describe, expect, it } from 'vitest'
import type { HistoryItem } from '@/lib/member'
import { provenance, requestNote } from './history-words'

const bonus: HistoryItem = {
  id: '1',
  user_id: '1',
  amount: '12.50',
  transaction_type: 'referral bonus',
  status: 'completed',
  created_at: '2026-03-16T13:02:00Z',
  source: 'bonus',
  counterparty: 'anna',
  pair_number: null,
  pair_names: null,
  rate: '5.00',
  volume: '250.00',
  bonus_amount: '12.50',
  reentry: '1.25',
  reference: null,
  wallet_address: null,
  admin_notes: null,
  decided_at: null,
  payout_reference: null,
  can_cancel: false,
  cancelled: false,
  in_balance: true,
}

describe('provenance', () => {
  it('says where a bonus comes from', () => {
    expect(provenance(bonus)).toBe('5.00% of $250.00, package of anna')
    const pair = {
      pair_number: 2,
      pair_names: ['anna', 'ben'] as [string, string],
      transaction_type: 'override bonus',
    }
    expect(provenance({ ...bonus, ...pair })).toBe('5.00% of $250.00, pair 2 of anna: anna, ben')
  })

  it('does not explain a part by what explains the whole', () => {
    const now = { volume: '500.00', bonus_amount: '25.00' }
    expect(provenance({ ...bonus, ...now })).toBe(
      'First credit; the bonus is now $25.00 (5.00% of $500.00, package of anna)',
    )
    expect(provenance({ ...bonus, ...now, source: 'transaction' })).toBe(
      'Raised; the bonus is now $25.00 (5.00% of $500.00, package of anna)',
    )
    const taken = { volume: '0.00', bonus_amount: '0.00', amount: '-12.50', source: 'transaction' } as const
    expect(provenance({ ...bonus, ...taken })).toBe('Lowered by a correction; the bonus is now $0.00 (anna)')
  })
})

describe('requestNote', () => {
  const request: HistoryItem = {
    ...bonus,
    source: 'withdrawal',
    amount: '-120.00',
    transaction_type: 'withdrawal',
    bonus_amount: null,
    rate: null,
  }

  it('tells a refusal from a cancellation, whatever the reason says', () => {
    const refused = { ...request, status: 'rejected', admin_notes: 'Cancelled by the member' }
    expect(requestNote(refused)).toBe('Not approved: Cancelled by the member. Nothing moved.')
    const decided_at = '2026-03-16T13:15:00Z'
    expect(requestNote({ ...refused, cancelled: true, decided_at })).toMatch(
      /^Cancelled by you at \d\d:\d\d\. Nothing moved\.$/,
    )
    expect(requestNote({ ...refused, cancelled: true, decided_at, admin_notes: 'Account closed' })).toMatch(
      /^Cancelled at /,
    )
  })

  it('says of a pending withdrawal that nothing was taken', () => {
    expect(requestNote({ ...request, status: 'pending', in_balance: false })).toBe('Reserved, not taken yet')
  })
})

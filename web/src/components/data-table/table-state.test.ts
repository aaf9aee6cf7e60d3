import { describe, expect, it } from 'vitest'
import { readTableState, writeTableState, type TableDefaults } from './table-state'

const defaults: TableDefaults = {
  sort: 'created_at.asc',
  sortable: ['created_at', 'amount'],
  filters: { status: 'pending', type: 'all' },
}
const read = (address: string) => readTableState(new URLSearchParams(address), defaults)
const write = (address: string, change: Parameters<typeof writeTableState>[2]) =>
  writeTableState(new URLSearchParams(address), defaults, change).toString()

describe('table state in the address', () => {
  it('has defaults', () => {
    expect(read('')).toEqual({
      page: 1,
      pageSize: 25,
      search: '',
      sort: 'created_at.asc',
      filters: { status: 'pending', type: 'all' },
    })
  })

  it('is restored from a link', () => {
    expect(read('page=3&size=100&q=mara&status=all&sort=amount.desc')).toMatchObject({
      page: 3,
      pageSize: 100,
      search: 'mara',
      sort: 'amount.desc',
      filters: { status: 'all' },
    })
  })

  it('ignores nonsense', () => {
    expect(read('page=-1&size=7')).toMatchObject({ page: 1, pageSize: 25 })
    for (const sort of ['colour.asc', 'amount', 'amount.up', '.'])
      expect(read(`sort=${sort}`)).toMatchObject({ sort: 'created_at.asc' })
  })

  it('goes back to the first page when the rows change', () => {
    expect(write('page=3', { search: 'ben' })).toBe('q=ben')
    expect(write('page=3&q=ben', { filters: { status: 'all' } })).toBe('q=ben&status=all')
  })

  it('keeps foreign parameters and drops defaults', () => {
    expect(write('deposit=7&status=all', { filters: { status: 'pending' } })).toBe('deposit=7')
    expect(write('q=ben', { page: 2 })).toBe('q=ben&page=2')
  })
})

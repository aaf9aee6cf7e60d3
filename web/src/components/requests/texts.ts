/** Every sentence that names the kind of request, written out, so that each can be found and read as it is. */
export const requestTexts = {
  deposit: {
    title: 'Deposits Management',
    search: 'Search deposits',
    none: 'No deposits found',
    loading: 'Loading deposits...',
    failedToLoad: 'Failed to load deposits',
    approve: { failed: 'Failed to approve deposit', done: 'Deposit approved successfully' },
    reject: { failed: 'Failed to reject deposit', done: 'Deposit rejected successfully' },
    void: 'Void this deposit',
  },
  withdrawal: {
    title: 'Withdrawals Management',
    search: 'Search withdrawals',
    none: 'No withdrawals found',
    loading: 'Loading withdrawals...',
    failedToLoad: 'Failed to load withdrawals',
    approve: { failed: 'Failed to approve withdrawal', done: 'Withdrawal approved successfully' },
    reject: { failed: 'Failed to reject withdrawal', done: 'Withdrawal rejected successfully' },
    void: 'Void this withdrawal',
  },
} as const

interface Named {
  username: string | null
  display_name: string | null
}

/** How a member is called in a row: the username, else the full name. A closed account has both. */
export function nameOf(member: Named): string {
  return member.username ?? member.display_name ?? 'Unknown'
}

export function fullNameOf(member: Named): string {
  return member.display_name ?? nameOf(member)
}

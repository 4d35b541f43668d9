"""What each action does on the main screen: one module a group of actions, one function an action."""

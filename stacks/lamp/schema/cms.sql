-- The tables of the small site. A title is unique only where a user made it: generated ones may meet.
-- Ids, kinds and times are those of the generator; the index is the one by which the front page is sorted.

CREATE DATABASE CMS CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

CREATE TABLE CMS.accounts (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  name VARCHAR(60) NOT NULL,
  pass VARCHAR(128) NOT NULL,
  mail VARCHAR(254) NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY accounts_name (name)
) ENGINE = InnoDB;

CREATE TABLE CMS.nodes (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  kind VARCHAR(16) NOT NULL,
  title VARCHAR(255) NOT NULL,
  body MEDIUMTEXT NOT NULL,
  author INT UNSIGNED NOT NULL,
  created BIGINT NOT NULL,
  promoted TINYINT NOT NULL,
  PRIMARY KEY (id),
  KEY nodes_promoted (promoted, created, id)
) ENGINE = InnoDB;

-- Who has a session that is not logged in has no account.
CREATE TABLE CMS.sessions (
  id CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  account INT UNSIGNED,
  seen BIGINT NOT NULL,
  requests BIGINT NOT NULL DEFAULT 1,
  PRIMARY KEY (id)
) ENGINE = InnoDB;

-- Pages as they were sent to visitors who are not logged in, until a node is created.
CREATE TABLE CMS.cached_pages (
  place VARCHAR(200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  content MEDIUMTEXT NOT NULL,
  PRIMARY KEY (place)
) ENGINE = InnoDB;

-- Logins that failed, where they are limited; those behind which one went well do not count for the account any more.
CREATE TABLE CMS.failed_logins (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  address VARCHAR(45) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  account INT UNSIGNED,
  of_account TINYINT NOT NULL DEFAULT 1,
  at BIGINT NOT NULL,
  PRIMARY KEY (id),
  KEY failed_logins_address (address, at),
  KEY failed_logins_account (account, address, at)
) ENGINE = InnoDB;

CREATE OR REPLACE USER 'web'@'localhost' IDENTIFIED BY 'web';
GRANT SELECT, INSERT, UPDATE, DELETE ON CMS.* TO 'web'@'localhost';
